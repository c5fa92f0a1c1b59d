package hist

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestLadder(t *testing.T) {
	b := NewSnapshot().Buckets()
	if len(b) != 30 {
		t.Fatalf("%d buckets, want 30", len(b))
	}
	want := map[int]time.Duration{
		0: 1 * time.Microsecond, 1: 2 * time.Microsecond, 2: 5 * time.Microsecond, 3: 10 * time.Microsecond,
		9: time.Millisecond, 18: time.Second, 28: 2000 * time.Second, 29: time.Hour,
	}
	for i, d := range want {
		if b[i].UpperBound != d {
			t.Errorf("bucket %d ends at %v, want %v", i, b[i].UpperBound, d)
		}
	}
	for i := 1; i < len(b); i++ {
		if b[i].UpperBound <= b[i-1].UpperBound {
			t.Errorf("bucket %d ends at %v, after %v", i, b[i].UpperBound, b[i-1].UpperBound)
		}
	}
}

// A bucket ends with the slot of its bound, and begins right after the last one.
func TestBucketBounds(t *testing.T) {
	for i, bound := range ladder {
		lo, hi := bounds(slot(int64(bound)))
		for _, c := range []struct {
			d    time.Duration
			want int
		}{
			{bound, i},
			{time.Duration(lo - 1), i},
			{min(time.Duration(hi+1), Highest), min(i+1, len(ladder)-1)},
		} {
			l, s := NewLocal(), NewSnapshot()
			l.RecordN(c.d, 3)
			l.AddTo(s)
			for j, b := range s.Buckets() {
				if want := map[bool]uint64{true: 3}[j == c.want]; b.Count != want {
					t.Errorf("%d ns: %d in the bucket up to %v, want %d", c.d, b.Count, b.UpperBound, want)
				}
			}
		}
	}
}

func TestBucketsHoldAllSamples(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	l := NewLocal()
	for name, shape := range shapes {
		for range 1000 {
			l.Record(time.Duration(shape(rng)))
		}
		l.Record(-1)
		l.Record(2 * time.Hour)
		s := NewSnapshot()
		l.AddTo(s)
		var sum uint64
		for _, b := range s.Buckets() {
			sum += b.Count
		}
		if sum != s.Count() {
			t.Errorf("with %s: the buckets hold %d samples of %d", name, sum, s.Count())
		}
	}
}
