package gate

import (
	"fmt"
	"reflect"

	"github.com/firq-go/firq"
)

// oddKeys reports whether a type has values that are not equal to themselves (NaN),
// or that cannot be compared (what an interface may hold). Keys of other types need
// no check.
func oddKeys(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128, reflect.Interface:
		return true
	case reflect.Array:
		return oddKeys(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if oddKeys(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}

var errOddKey = fmt.Errorf("%w: tenant is not equal to itself (NaN), so nobody would find it again", firq.ErrInvalidTask)

// checkKey refuses a tenant that is not equal to itself. One that cannot be
// compared panics here, as it would in any map, before anything was taken for it.
func (g *Gate[K]) checkKey(tenant K) error {
	if g.oddKeys && tenant != tenant { // NaN
		return errOddKey
	}
	return nil
}
