package firqredis

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// stale lets a client read the settings again, as if time had passed.
func stale(t testing.TB, q *Queue[string]) {
	t.Helper()
	was := at(q).shared.Load()
	at(q).shared.Store(&inForce{was.Settings, time.Now().Add(-time.Hour), was.applied})
	until(t, "it reads them", func() bool { return time.Since(at(q).settings().read) < time.Hour })
}

// What must agree lives with the queue: a client that says nothing goes by what others have set, one that is there already follows,
// and a warning names what another client changes.
func TestSettings(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		early, ctx := open(t, s, Config[string]{}), bounded(t)
		name := at(early).o.Name
		same(t, "none", early.Settings(), Settings{DeadLetters: Retention{PerTenant: DefaultDeadLettersPerTenant, For: DefaultDeadLettersFor}})
		all := Settings{
			MaxQueued: 7, MaxQueuedPerTenant: 6, MaxInFlight: 5, MaxInFlightPerTenant: 4, PriorityAging: time.Minute,
			DeadLetters: Retention{PerTenant: 3, For: time.Hour},
		}
		sets := open(t, s, Config[string]{
			Name: name, MaxQueued: 7, MaxQueuedPerTenant: 6, MaxInFlight: 5, MaxInFlightPerTenant: 4, PriorityAging: time.Minute, DeadLetters: all.DeadLetters,
		})
		late := open(t, s, Config[string]{Name: name})
		stale(t, early)
		for _, q := range []*Queue[string]{early, sets, late} {
			same(t, "Settings", q.Settings(), all)
		}
		for k := range 6 {
			put(t, early, job{ID: fmt.Sprint(k)})
		}
		_, err := early.Enqueue(ctx, job{})
		want(t, err, ErrTenantFull)
		put(t, late, job{Tenant: "b"})
		_, err = late.Enqueue(ctx, job{Tenant: "b"})
		want(t, err, ErrFull)
		same(t, "in flight, of a tenant and of all", len(now(t, early, 9)), 5)
		ok(t, late.ChangeSettings(ctx, SettingsChange{MaxInFlight: ptr(0), MaxQueued: ptr(2)}))
		stale(t, sets)
		all.MaxInFlight, all.MaxQueued = 0, 2
		same(t, "changed", sets.Settings(), all)
		want(t, late.ChangeSettings(ctx, SettingsChange{MaxQueuedPerTenant: ptr(-1)}), firq.ErrInvalidConfig)
	})
}

// A limit in flight that is raised, or taken away, holds no tenant back any more, whether its deliveries end or not, and whichever client
// has raised it. Until a client follows, it goes by the old one: what that holds back goes on when it follows, or when the tenant has
// nothing in flight.
func TestLimitRaised(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		for name, raise := range map[string]func(q *Queue[string], limit int){
			"ChangeSettings": func(q *Queue[string], limit int) {
				ok(t, q.ChangeSettings(bounded(t), SettingsChange{MaxInFlightPerTenant: &limit}))
			},
			"New": func(q *Queue[string], limit int) {
				if limit == 0 { // New leaves it
					limit = 9
				}
				open(t, s, Config[string]{Name: at(q).o.Name, Partitions: 2, MaxInFlightPerTenant: limit})
			},
		} {
			for _, limit := range []int{3, 0} {
				q := open(t, s, Config[string]{Partitions: 2, MaxInFlightPerTenant: 2})
				put(t, q, append(many("a", 9), many("b", 1)...)...)
				same(t, "in flight", len(now(t, q, 9)), 3)
				put(t, q, many("b", 1)...)
				raise(q, limit)
				stale(t, q)
				until(t, "it goes by the new limit: "+name, func() bool { return at(q).shared.Load().applied })
				books(t, q)
				put(t, q, many("a", 1)...)
				if its := now(t, q, 2); len(its) != 2 {
					t.Errorf("%s %d: %d are delivered", name, limit, len(its))
				}
			}
		}
	})
}

// A client that has not followed yet holds a tenant back as the old limit says: one that has, lets it go on when its last delivery ends.
func TestLimitRaisedBefore(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		late, ctx := open(t, s, Config[string]{MaxInFlightPerTenant: 2}), bounded(t)
		q := open(t, s, Config[string]{Name: at(late).o.Name, MaxInFlightPerTenant: 5})
		put(t, q, many("a", 9)...)
		its := now(t, late, 9)
		same(t, "by the old limit", len(its), 2)
		ok(t, q.Ack(ctx, its...))
		same(t, "by the new limit", len(now(t, q, 9)), 5)
		books(t, q)
	})
}

// Dead letters that are not kept any longer are gone when the setting changes.
func TestKeptShorter(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{}), bounded(t)
		bury(t, q, "x", job{ID: "dead"})
		time.Sleep(5 * time.Millisecond)
		ok(t, q.ChangeSettings(ctx, SettingsChange{DeadLettersFor: ptr(time.Millisecond)}))
		same(t, "DeadLetters", books(t, q).DeadLetters, 0)
	})
}

func ptr[V any](v V) *V { return &v }

// A client without PriorityAging does not turn the order of a queue round that has it: not when it enqueues, nor when it
// requeues or gives back.
func TestAgeingIsTheQueues(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		ageing, ctx := open(t, s, Config[string]{PriorityAging: 10 * time.Millisecond}), bounded(t)
		plain := open(t, s, Config[string]{Name: at(ageing).o.Name})
		bury(t, plain, "x", job{ID: "dead", Priority: firq.PriorityVeryLow})
		put(t, plain, job{ID: "low", Priority: firq.PriorityVeryLow})
		ok(t, plain.Requeue(ctx, "dead"))
		ok(t, plain.Release(ctx, now(t, plain, 2)...))
		time.Sleep(50 * time.Millisecond) // four levels, and a bit
		put(t, plain, job{ID: "high", Priority: firq.PriorityVeryHigh})
		equal(t, "order", sorted(idsOf(now(t, plain, 2))), []string{"dead", "low"})
	})
}

// The warning names the setting, and both values; a client that says nothing, or the same, gets none.
func TestSettingsWarn(t *testing.T) { //nolint:paralleltest // it has the default logger
	redisServer.need(t)
	var log bytes.Buffer
	was := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(was)
	q := open(t, redisServer, Config[string]{MaxQueued: 5, PriorityAging: time.Minute})
	open(t, redisServer, Config[string]{Name: at(q).o.Name, MaxQueued: 5})
	open(t, redisServer, Config[string]{Name: at(q).o.Name})
	lines := func() []string {
		return slices.DeleteFunc(strings.Split(log.String(), "\n"), func(l string) bool { return !strings.Contains(l, "queue="+at(q).o.Name+" ") })
	}
	same(t, "lines", len(lines()), 0)
	open(t, redisServer, Config[string]{Name: at(q).o.Name, PriorityAging: time.Second, MaxInFlight: 3})
	if l := lines(); len(l) != 1 || !strings.Contains(l[0], "PriorityAging") || !strings.Contains(l[0], "was=1m0s is=1s") {
		t.Errorf("%q", l)
	}
}
