package adapter

import (
	"errors"
	"reflect"
)

// CheckGate returns an error if g cannot be an adapter's gate: if it is nil, or a nil pointer,
// or a value that JoinSlot cannot compare.
func CheckGate(g any) error {
	v := reflect.ValueOf(g)
	switch {
	case g == nil || v.Kind() == reflect.Pointer && v.IsNil():
		return errors.New("gate is nil")
	case !v.Comparable():
		return errors.New("gate is not comparable; use a pointer")
	}
	return nil
}
