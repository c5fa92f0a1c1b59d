package spin

import (
	"testing"
	"time"
)

func TestOf(t *testing.T) {
	for _, d := range []time.Duration{0, -time.Second} {
		if w := Of(d); w != (Work{}) {
			t.Errorf("Of(%v) = %v, want no work", d, w)
		}
	}
	short, long := Of(time.Nanosecond), Of(time.Millisecond)
	if short.rounds < 1 {
		t.Errorf("Of(1ns) does nothing")
	}
	if ratio := long.rounds / short.rounds; ratio < 1000 {
		t.Errorf("Of(1ms) is %d times Of(1ns)", ratio)
	}
}

func TestDo(t *testing.T) {
	var none, one, two Line
	Work{}.Do(&none)
	Work{1}.Do(&one)
	Work{2}.Do(&two)
	if a, b, c := none.state.Load(), one.state.Load(), two.state.Load(); a != 0 || b == 0 || c == 0 || b == c {
		t.Errorf("0, 1 and 2 rounds give %d, %d, %d", a, b, c)
	}
}

func BenchmarkDo(b *testing.B) {
	for _, d := range []time.Duration{100, 1000} {
		b.Run(d.String(), func(b *testing.B) {
			w, l := Of(d), Line{}
			for b.Loop() {
				w.Do(&l)
			}
		})
	}
}
