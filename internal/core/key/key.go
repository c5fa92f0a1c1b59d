// Package key checks whether a tenant can be a key of a map. The cores and gate check each
// tenant that a caller names before they use it.
package key

import (
	"fmt"
	"reflect"

	"github.com/firq-go/firq"
)

// ErrNotItself refuses a tenant that is not equal to itself: no map would
// find it again.
var ErrNotItself = fmt.Errorf("%w: tenant is not equal to itself (NaN)", firq.ErrInvalidTask)

// Check looks at tenants of one type. The zero value looks at none; see New. It is
// immutable, and safe for concurrent use.
type Check[K comparable] struct {
	looks bool // the type has values that are not fit
}

// New returns the Check of a type.
func New[K comparable]() Check[K] { return Check[K]{odd(reflect.TypeFor[K]())} }

// Tenant refuses a tenant that is not equal to itself, and panics, as a map does, if
// it cannot be compared. No lock may be held, and nothing be taken, when it panics.
// For a type whose values can all be keys it costs a look at a bool.
func (c Check[K]) Tenant(k K) error {
	if c.looks && !equal(k, k) {
		return ErrNotItself
	}
	return nil
}

// CanCompare reports whether the tenant can be compared, so that Tenant does not panic.
func (c Check[K]) CanCompare(k *K) bool {
	return !c.looks || reflect.ValueOf(k).Elem().Comparable()
}

func equal[K comparable](a, b K) bool { return a == b }

// odd reports whether a comparable type has values that are not equal to
// themselves, or that cannot be compared after all.
func odd(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface, reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return true
	case reflect.Array:
		return t.Len() > 0 && odd(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if odd(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}
