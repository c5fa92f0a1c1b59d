package firqredis

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq/queue"
)

// settingNames are the fields of Config, and of the hash that has them, in the order of written.
var settingNames = [...]string{
	"MaxQueued", "MaxQueuedPerTenant", "MaxInFlight", "MaxInFlightPerTenant", "PriorityAging", "DeadLetters.PerTenant", "DeadLetters.For",
	"RatePerTenant",
}

// written has settings as they are stored; "": not stored.
type written [len(settingNames)]string

func textsOf(s *Settings) (t written) {
	for i, n := range []int64{
		int64(s.MaxQueued), int64(s.MaxQueuedPerTenant), int64(s.MaxInFlight), int64(s.MaxInFlightPerTenant),
		int64(s.PriorityAging), int64(s.DeadLetters.PerTenant), int64(s.DeadLetters.For),
	} {
		if n != 0 {
			t[i] = strconv.FormatInt(n, 10)
		}
	}
	t[7] = limitText(s.RatePerTenant)
	return t
}

func (t *written) settings() Settings {
	n := func(i int) int { return int(number(t[i])) }
	d := func(i int) time.Duration { return time.Duration(number(t[i])) }
	return Settings{
		MaxQueued: n(0), MaxQueuedPerTenant: n(1), MaxInFlight: n(2), MaxInFlightPerTenant: n(3), PriorityAging: d(4),
		DeadLetters: Retention{PerTenant: n(5), For: d(6)}, RatePerTenant: limitOf(t[7]),
	}
}

// show returns a setting for messages.
func (t *written) show(i int) any {
	if i == 4 || i == 6 {
		return time.Duration(number(t[i]))
	}
	return t[i]
}

// inForce are settings with every default filled in.
type inForce struct {
	Settings
	read    time.Time
	applied bool // what is there goes by them: see apply
}

// settingsEvery bounds the age of the settings that a call uses.
const settingsEvery = 10 * time.Second

// settings returns the settings in force. It has them read again from time to time, and does not wait for that: their server may be away
// while that of another partition is not.
func (e *engine) settings() *inForce {
	s := e.shared.Load()
	if time.Since(s.read) > settingsEvery && e.reading.CompareAndSwap(false, true) {
		go func() {
			defer e.reading.Store(false)
			ctx, cancel := context.WithTimeout(context.Background(), settingsEvery)
			defer cancel()
			if n, err := e.readSettings(ctx); err == nil {
				e.follow(n)
				_ = e.apply(ctx) // else again later
			} else { // the old ones, and again later
				e.shared.CompareAndSwap(s, &inForce{s.Settings, time.Now(), s.applied})
			}
		}()
	}
	return s
}

// Settings is of queue.Engine.
func (e *engine) Settings() Settings {
	s := e.shared.Load().Settings
	if s.PriorityAging == strict {
		s.PriorityAging = 0
	}
	return s
}

// follow adopts stored settings.
func (e *engine) follow(t written) {
	s := t.settings()
	set(&s.PriorityAging, strict)
	set(&s.DeadLetters.PerTenant, DefaultDeadLettersPerTenant)
	set(&s.DeadLetters.For, DefaultDeadLettersFor)
	if s.DeadLetters.For < 0 {
		s.DeadLetters.For = -time.Second // for the scripts, which count microseconds
	}
	was := e.shared.Load()
	e.shared.Store(&inForce{s, time.Now(), was == nil || was.applied && !needsApply(&was.Settings, &s)})
}

// needsApply reports whether settings change anything for present tasks: tenants that are held back at their limit in flight
// or their rate may go on, or dead letters have been kept for long enough.
func needsApply(was, is *Settings) bool {
	a, b := was.MaxInFlightPerTenant, is.MaxInFlightPerTenant
	return a > 0 && (b == 0 || b > a) || was.DeadLetters.For != is.DeadLetters.For || was.RatePerTenant != is.RatePerTenant
}

// apply applies settings to present tasks. Each client does that, because each holds tenants back by the old settings until it follows.
func (e *engine) apply(ctx context.Context) error {
	s := e.shared.Load()
	if s.applied {
		return nil
	}
	for p := range e.prefix {
		for cursor, more := uint64(0), true; more; more = cursor != 0 {
			names, next, err := e.activeTenants(ctx, p, cursor)
			if err != nil {
				return err
			}
			for some := range slices.Chunk(names, tenantsAtOnce) {
				if _, err := e.runWithSettings(ctx, placeScript, p, anys(some)...); err != nil {
					return err
				}
			}
			cursor = next
		}
		if _, err := e.runWithSettings(ctx, maintainScript, p, dueAtOnce); err != nil {
			return err
		}
	}
	e.shared.CompareAndSwap(s, &inForce{s.Settings, s.read, true})
	return nil
}

func (e *engine) readSettings(ctx context.Context) (t written, err error) {
	r, err := e.db.HMGet(ctx, e.prefix[0]+":cfg", settingNames[:]...).Result()
	if err != nil {
		return t, fmt.Errorf("firqredis: %w", err)
	}
	for i := range r {
		t[i], _ = r[i].(string)
	}
	return t, nil
}

// share stores the settings of Config for all clients, and adopts the result.
func (e *engine) share(ctx context.Context, own Settings) error {
	stored, err := e.readSettings(ctx)
	if err != nil {
		return err
	}
	was := stored
	for i, text := range textsOf(&own) {
		if text == "" || text == stored[i] {
			continue
		}
		if err := e.db.HSet(ctx, e.prefix[0]+":cfg", settingNames[i], text).Err(); err != nil {
			return fmt.Errorf("firqredis: %w", err)
		}
		if stored[i] = text; was[i] != "" {
			slog.Default().Warn("firqredis: another client had set the queue's "+settingNames[i]+" to another value; this client's holds now for all",
				"queue", e.o.Name, "was", was.show(i), "is", stored.show(i))
		}
	}
	e.follow(was)
	e.follow(stored)
	return nil
}

// ChangeSettings is of queue.Engine.
func (e *engine) ChangeSettings(ctx context.Context, c queue.SettingsChange) error {
	var s Settings
	given := [len(settingNames)]bool{
		give(&s.MaxQueued, c.MaxQueued), give(&s.MaxQueuedPerTenant, c.MaxQueuedPerTenant), give(&s.MaxInFlight, c.MaxInFlight),
		give(&s.MaxInFlightPerTenant, c.MaxInFlightPerTenant), give(&s.PriorityAging, c.PriorityAging),
		give(&s.DeadLetters.PerTenant, c.DeadLettersPerTenant), give(&s.DeadLetters.For, c.DeadLettersFor),
		give(&s.RatePerTenant, c.RatePerTenant),
	}
	if err := e.fits(s.MaxQueued, s.MaxInFlight); err != nil {
		return err
	}
	stored, err := await(ctx, func() (written, error) {
		_, err := e.db.Pipelined(ctx, func(t redis.Pipeliner) error {
			for i, text := range textsOf(&s) {
				if key := e.prefix[0] + ":cfg"; given[i] && text != "" {
					t.HSet(ctx, key, settingNames[i], text)
				} else if given[i] {
					t.HDel(ctx, key, settingNames[i])
				}
			}
			return nil
		})
		if err != nil {
			return written{}, fmt.Errorf("firqredis: ChangeSettings: %w", err)
		}
		return e.readSettings(ctx)
	})
	if err != nil {
		return err
	}
	e.follow(stored)
	return e.apply(ctx)
}

// set replaces a zero field by its default.
func set[V comparable](field *V, value V) {
	var zero V
	if *field == zero {
		*field = value
	}
}

// give sets a field to a given value.
func give[V any](field, value *V) bool {
	if value == nil {
		return false
	}
	*field = *value
	return true
}
