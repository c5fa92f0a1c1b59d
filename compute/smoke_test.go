package compute

import (
	"context"
	"testing"
	"time"
)

func TestSmoke(t *testing.T) {
	s, err := New(func(_ context.Context, c Call[string, int]) (int, error) { return c.Key * 2, nil }, Config[string, int, int]{TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100000 {
		if v, err := s.Do(context.Background(), "a", i); v != 2*i || err != nil {
			t.Fatal(v, err)
		}
		if v, err := s.Do(context.Background(), "a", i); v != 2*i || err != nil {
			t.Fatal(v, err)
		}
	}
	t.Logf("%+v", s.Stats())
}

func BenchmarkHit(b *testing.B) {
	s, _ := New(func(_ context.Context, c Call[string, int]) (int, error) { return c.Key * 2, nil }, Config[string, int, int]{TTL: time.Minute})
	ctx := context.Background()
	s.Do(ctx, "a", 1)
	b.ReportAllocs()
	for b.Loop() {
		s.Do(ctx, "a", 1)
	}
}

func BenchmarkMiss(b *testing.B) {
	s, _ := New(func(_ context.Context, c Call[string, int]) (int, error) { return c.Key * 2, nil }, Config[string, int, int]{})
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		s.Do(ctx, "a", 1)
	}
}
