package compute

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
)

func TestOptions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := open(t, config{TTL: time.Minute, Limit: 1, FIFO: true})
		with := d.With(func(context.Context, call) (string, error) { return "with", nil })
		d.ask(background, "a", "w", with).is(Executed, "with")
		d.ask(background, "a", "w").is(Hit, "with")
		d.ask(background, "a", "w", NoCache()).is(Executed, "a/w#1")
		d.ask(background, "a", "w", DoOption{}).is(Hit, "a/w#1")
		other, err := New(func(context.Context, Call[string, int]) (string, error) { return "", nil }, Config[string, int, string]{})
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		for _, bad := range []struct {
			o   DoOption
			err error
		}{
			{Cost(-1), firq.ErrInvalidTask}, {Priority(firq.PriorityCritical + 1), firq.ErrInvalidTask},
			{d.With(nil), firq.ErrInvalidArgument},
			{other.With(func(context.Context, Call[string, int]) (string, error) { return "", nil }), firq.ErrInvalidArgument},
		} {
			if _, info, err := d.DoInfo(background, "a", "k", bad.o); !errors.Is(err, bad.err) || info.Source != None || info.Group != -1 {
				t.Errorf("%+v: %+v, %v", bad.o, info, err)
			}
		}
		release := d.m.hold("busy")
		d.start(background, "a", "busy")
		d.start(background, "a", "normal")
		d.start(background, "a", "critical", Priority(firq.PriorityCritical))
		release()
		synctest.Wait()
		var order []string
		for _, c := range d.m.calls {
			order = append(order, c.Key)
		}
		if got := strings.Join(order[1:], " "); got != "busy critical normal" {
			t.Errorf("order %s", got)
		}
	})
}

// Costs count in fairness, by option, by Config and by time.
func TestCosts(t *testing.T) {
	for name, cfg := range map[string]config{
		"option": {},
		"config": {Cost: func(tenant, _ string) int64 {
			if tenant == "costly" {
				return 10
			}
			return 1
		}},
		"time": {ChargeByTime: true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				cfg.Limit, cfg.FIFO = 1, true
				cfg.Gate = gate.Config[string]{MaxQueueAge: -1}
				m := newMaker()
				d := openWith(t, m, cfg, func(ctx context.Context, c call) (string, error) {
					if c.Tenant == "costly" {
						time.Sleep(10*time.Millisecond - time.Microsecond) // rounded up
					} else {
						time.Sleep(time.Microsecond)
					}
					return m.exec(ctx, c)
				})
				release := m.hold("busy")
				d.start(background, "x", "busy")
				for i := range 100 {
					o := DoOption{}
					if name == "option" {
						o = Cost(10)
					}
					d.start(background, "costly", fmt.Sprint("costly", i), o)
					d.start(background, "cheap", fmt.Sprint("cheap", i))
				}
				release()
				time.Sleep(2 * time.Second)
				synctest.Wait()
				n := map[string]int{}
				for _, c := range m.calls {
					if n[c.Tenant]++; n["cheap"] == 60 {
						break
					}
				}
				if n["costly"] < 5 || n["costly"] > 9 {
					t.Errorf("%d costly executions among 60 cheap ones, want about 6", n["costly"])
				}
			})
		})
	}
}

func TestClone(t *testing.T) {
	s, err := New(func(context.Context, call) ([]int, error) { return []int{1}, nil },
		Config[string, string, []int]{TTL: time.Minute, Clone: func(v []int) []int { return append([]int(nil), v...) }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 3 {
		v, err := s.Do(background, "a", "k")
		if err != nil || v[0] != 1 {
			t.Fatalf("%v, %v", v, err)
		}
		v[0] = 2
		w, _, _ := s.Peek("a", "k")
		w[0] = 3
	}
}

func TestExecTimeout(t *testing.T) {
	modes(t, func(t *testing.T, cfg config) {
		cfg.ExecTimeout = time.Second
		d := open(t, cfg)
		d.m.hold("k")
		leader, follower := d.start(background, "a", "k"), d.start(background, "a", "k")
		time.Sleep(time.Second - time.Millisecond)
		leader.pending()
		time.Sleep(time.Millisecond)
		synctest.Wait()
		leader.failed(Executed, context.DeadlineExceeded)
		follower.failed(Coalesced, context.DeadlineExceeded)
		if st := d.Stats(); st.Abandoned != 0 || st.Failed != 1 || st.ExecTime.Max != time.Second {
			t.Errorf("abandoned %d, failed %d, time %v", st.Abandoned, st.Failed, st.ExecTime.Max)
		}
	})
}
