package sweep

import (
	"fmt"
	"strconv"
	"strings"
)

// Value is a point on an axis: a number, or one that follows from the number of
// processors. The zero value leaves the scenario's.
type Value struct {
	kind kind
	n    int
}

type kind int

const (
	asIs     kind = iota // "default"
	exactly              // 8
	each                 // 2x: times the processors
	orSoMany             // 8+: or as many as processors, if these are more
)

// ParseValue reads "default", a number, or a number with x or + behind it.
func ParseValue(text string) (Value, error) {
	if text == "default" {
		return Value{}, nil
	}
	v := Value{kind: exactly}
	number := text
	switch {
	case strings.HasSuffix(text, "x"):
		v.kind, number = each, strings.TrimSuffix(text, "x")
	case strings.HasSuffix(text, "+"):
		v.kind, number = orSoMany, strings.TrimSuffix(text, "+")
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 {
		return Value{}, fmt.Errorf("%q, must be a number, one such as 2x (times the processors) or 8+ (or as many as processors, if these are more), or default", text)
	}
	v.n = n
	return v, nil
}

// String is the inverse of ParseValue.
func (v Value) String() string {
	switch v.kind {
	case exactly:
		return strconv.Itoa(v.n)
	case each:
		return strconv.Itoa(v.n) + "x"
	case orSoMany:
		return strconv.Itoa(v.n) + "+"
	}
	return "default"
}

// MarshalText writes v into result files.
func (v Value) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (v *Value) UnmarshalText(text []byte) (err error) {
	*v, err = ParseValue(string(text))
	return err
}

// on returns the number on the given number of processors; nil leaves the scenario's.
func (v Value) on(processors int) *int {
	n := v.n
	switch v.kind {
	case asIs:
		return nil
	case each:
		n *= processors
	case orSoMany:
		n = max(n, processors)
	}
	return &n
}
