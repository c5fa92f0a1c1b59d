package key

import (
	"errors"
	"math"
	"runtime"
	"testing"

	"github.com/firq-go/firq"
)

// A tenant that is not equal to itself is refused, and one that cannot be compared
// panics; types that have neither are not looked at.
func TestTenant(t *testing.T) {
	type pair struct {
		name string
		x    any
	}
	type inner struct{ A string }
	nan := math.NaN()
	keys[string]{fit: []string{"", "a"}}.check(t)
	keys[int]{fit: []int{0, -1}}.check(t)
	keys[*float64]{fit: []*float64{&nan}}.check(t)
	keys[[2]*int]{fit: [][2]*int{{}}}.check(t)
	keys[[0]float64]{fit: [][0]float64{{}}}.check(t)
	keys[struct{ inner }]{fit: []struct{ inner }{{}}}.check(t)
	keys[float64]{looks: true, fit: []float64{0, math.Inf(1)}, unfit: []float64{nan}}.check(t)
	keys[float32]{looks: true, fit: []float32{0}, unfit: []float32{float32(nan)}}.check(t)
	keys[complex64]{looks: true, fit: []complex64{1}, unfit: []complex64{complex(0, float32(nan))}}.check(t)
	keys[complex128]{looks: true, fit: []complex128{1i}, unfit: []complex128{complex(0, nan)}}.check(t)
	keys[[2]float64]{looks: true, fit: [][2]float64{{}}, unfit: [][2]float64{{0, nan}}}.check(t)
	keys[[1]struct{ x [1]float64 }]{looks: true, unfit: [][1]struct{ x [1]float64 }{{{[1]float64{nan}}}}}.check(t)
	keys[pair]{
		looks: true, fit: []pair{{"a", 1}, {"a", nil}}, unfit: []pair{{"a", nan}},
		panics: []pair{{"a", []int{1}}, {"a", map[string]int{}}, {"a", func() {}}},
	}.check(t)
	keys[error]{looks: true, fit: []error{nil, firq.ErrClosed}}.check(t)
	keys[any]{
		looks: true, fit: []any{nil, 1, "a", pair{"a", 1}, new(int)}, unfit: []any{nan, pair{"", nan}, [1]any{nan}},
		panics: []any{[]int{}, map[int]int(nil), func() {}, pair{"", []int{1}}, [1]any{[]int{1}}},
	}.check(t)
}

// keys are values of a type, and what is to become of them.
type keys[K comparable] struct {
	looks              bool
	fit, unfit, panics []K
}

func (x keys[K]) check(t *testing.T) {
	t.Helper()
	c := New[K]()
	if c.looks != x.looks {
		t.Errorf("%T: looked at: %t, want %t", *new(K), c.looks, x.looks)
	}
	for _, k := range x.fit {
		if err := c.Tenant(k); err != nil {
			t.Errorf("%T %v: %v", k, k, err)
		}
	}
	for _, k := range x.unfit {
		if err := c.Tenant(k); !errors.Is(err, firq.ErrInvalidTask) {
			t.Errorf("%T %v: %v, want ErrInvalidTask", k, k, err)
		}
	}
	for _, k := range x.panics {
		func() {
			defer func() {
				if v := recover(); v == nil {
					t.Errorf("%T: no panic", k)
				} else if _, ok := v.(runtime.Error); !ok {
					t.Errorf("%T: panics with %v, want a runtime error", k, v)
				}
			}()
			_ = c.Tenant(k)
		}()
	}
}
