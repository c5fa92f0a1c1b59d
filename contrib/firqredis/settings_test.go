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
	was := q.shared.Load()
	q.shared.Store(&inForce{was.Settings, time.Now().Add(-time.Hour)})
	until(t, "it reads them", func() bool { return time.Since(q.settings().read) < time.Hour })
}

// What must agree lives with the queue: a client that says nothing goes by what others have set, one that is there already follows,
// and a warning names what another client changes.
func TestSettings(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		early, ctx := open(t, s, Config[string]{}), bounded(t)
		name := early.cfg.Name
		same(t, "none", early.Settings(), Settings{DeadLetters: Retention{DefaultDeadLettersPerTenant, DefaultDeadLettersFor}})
		all := Settings{7, 6, 5, 4, time.Minute, Retention{3, time.Hour}}
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

func ptr[V any](v V) *V { return &v }

// A client without PriorityAging of its own does not turn the order of a queue round that has it: not when it enqueues, nor when it
// requeues or gives back.
func TestAgeingIsTheQueues(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		ageing, ctx := open(t, s, Config[string]{PriorityAging: 10 * time.Millisecond}), bounded(t)
		plain := open(t, s, Config[string]{Name: ageing.cfg.Name})
		bury(t, plain, "x", job{ID: "dead", Priority: firq.PriorityVeryLow})
		put(t, plain, job{ID: "low", Priority: firq.PriorityVeryLow})
		ok(t, plain.Requeue(ctx, "dead"))
		ok(t, plain.Release(ctx, now(t, plain, 2)...))
		time.Sleep(50 * time.Millisecond) // four levels, and a bit
		put(t, plain, job{ID: "high", Priority: firq.PriorityVeryHigh})
		equal(t, "order", sorted(idsOf(now(t, plain, 2))), []string{"dead", "low"})
	})
}

// The warning names the setting, and both values; who says nothing, or the same, is not warned of.
func TestSettingsWarn(t *testing.T) { //nolint:paralleltest // it has the default logger
	redisServer.need(t)
	var log bytes.Buffer
	was := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(was)
	q := open(t, redisServer, Config[string]{MaxQueued: 5, PriorityAging: time.Minute})
	open(t, redisServer, Config[string]{Name: q.cfg.Name, MaxQueued: 5})
	open(t, redisServer, Config[string]{Name: q.cfg.Name})
	lines := func() []string {
		return slices.DeleteFunc(strings.Split(log.String(), "\n"), func(l string) bool { return !strings.Contains(l, "queue="+q.cfg.Name+" ") })
	}
	same(t, "lines", len(lines()), 0)
	open(t, redisServer, Config[string]{Name: q.cfg.Name, PriorityAging: time.Second, MaxInFlight: 3})
	if l := lines(); len(l) != 1 || !strings.Contains(l[0], "PriorityAging") || !strings.Contains(l[0], "was=1m0s is=1s") {
		t.Errorf("%q", l)
	}
}
