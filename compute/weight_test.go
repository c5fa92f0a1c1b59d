package compute

import (
	"context"
	"errors"
	"testing"
	"time"
)

// ExecTime has every execution, failed ones, panics and those behind too, as soon as its outcome
// is there, whether its shard has handed it in or not.
func TestExecTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, err := New(func(_ context.Context, c Call[int, int]) (int, error) {
			time.Sleep(time.Duration(c.Key) * time.Millisecond)
			switch c.Key % 3 {
			case 0:
				return 0, errors.New("bad")
			case 1:
				panic("broken")
			}
			return 0, nil
		}, Config[int, int, int]{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		sum := time.Duration(0)
		for n := 1; n <= 40; n++ {
			for range 40 { // of one shard, which hands in now and then
				_, _ = s.Do(background, 1, n)
				sum += time.Duration(n) * time.Millisecond
				if n%13 == 0 {
					_ = s.Stats() // hands in
				}
			}
			st := s.Stats()
			if q := st.ExecTime; q.Samples != uint64(40*n) || q.Samples != st.Executions || q.Sum != sum || q.Max != time.Duration(n)*time.Millisecond {
				t.Fatalf("after %d executions: %d of %v, longest %v; want %v", 40*n, q.Samples, q.Sum, q.Max, sum)
			}
		}
	})
}

// Weights: below 1 counts as 1, an error as 1, and what is heavier than Size is not kept, nor is
// what was kept of its key before.
func TestWeights(t *testing.T) {
	bubble(t, func(t *testing.T) {
		weight, bad := int64(0), errors.New("bad")
		var fail error
		s, err := New(func(context.Context, Call[string, string]) (string, error) { return "v", fail }, Config[string, string, string]{
			TTL: time.Hour, Size: 10, ErrorTTL: func(error) time.Duration { return time.Hour },
			Weigh: func(k, v string) int64 {
				if k == "" || v != "v" {
					t.Errorf("asked for the weight of %q, %q", k, v)
				}
				return weight
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for i, c := range []struct {
			key             string
			weight          int64
			fail            error
			entries, weighs int // afterwards
		}{
			{"none", 0, nil, 1, 1}, {"less", -5, nil, 2, 2}, {"error", 5, bad, 3, 3}, {"seven", 7, nil, 4, 10},
			{"eight", 11, nil, 4, 10}, {"seven", 11, nil, 3, 3}, {"all", 10, nil, 1, 10},
		} {
			weight, fail = c.weight, c.fail
			_, info, err := s.DoInfo(background, "a", c.key, NoCache())
			if !errors.Is(err, c.fail) || info.Source != Executed {
				t.Errorf("%d: %v, %v", i, info.Source, err)
			}
			if st := s.Stats(); st.Entries != c.entries || st.Weight != int64(c.weighs) {
				t.Errorf("%d, %s of weight %d: %d entries of weight %d, want %d of %d", i, c.key, c.weight, st.Entries, st.Weight, c.entries, c.weighs)
			}
		}
	})
}

// entries is a cache that notes what it is given.
type entries struct{ set []*Entry[string] }

func (*entries) Get(Key[string, string]) *Entry[string]        { return nil }
func (c *entries) Set(_ Key[string, string], e *Entry[string]) { c.set = append(c.set, e) }
func (*entries) Delete(Key[string, string])                    {}
func (*entries) Len() int                                      { return 0 }

// A custom cache gets how long an entry can be an answer: stale answers included, which
// there are none of an error.
func TestEntryTTL(t *testing.T) {
	var fail error
	for _, c := range []struct {
		cfg  Config[string, string, string]
		fail error
		want time.Duration
	}{
		{Config[string, string, string]{TTL: time.Minute}, nil, time.Minute},
		{Config[string, string, string]{TTL: time.Minute, Stale: time.Second}, nil, time.Minute + time.Second},
		{Config[string, string, string]{TTL: time.Minute, Stale: time.Second, StaleIfError: time.Hour}, nil, time.Minute + time.Hour},
		{Config[string, string, string]{TTL: time.Minute, Stale: time.Hour}, errors.New("bad"), time.Second},
	} {
		kept := &entries{}
		c.cfg.Cache, c.cfg.Jitter = kept, -1
		c.cfg.ErrorTTL = func(error) time.Duration { return time.Second }
		s, err := New(func(context.Context, Call[string, string]) (string, error) { return "v", fail }, c.cfg)
		if err != nil {
			t.Fatal(err)
		}
		fail = c.fail
		_, _ = s.Do(background, "a", "k")
		if len(kept.set) != 1 || kept.set[0].TTL() != c.want || kept.set[0].Weight() != 1 {
			t.Errorf("%d entries, want one with TTL %v", len(kept.set), c.want)
		}
		_ = s.Close()
	}
}
