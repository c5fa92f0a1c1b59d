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

// settingNames are the fields of Config, and of the hash that has them, in the order of numbers.
var settingNames = [...]string{
	"MaxQueued", "MaxQueuedPerTenant", "MaxInFlight", "MaxInFlightPerTenant", "PriorityAging", "DeadLetters.PerTenant", "DeadLetters.For",
}

// numbers are settings as they are stored; 0: not stored.
type numbers [len(settingNames)]int64

func numbersOf(s *Settings) numbers {
	return numbers{
		int64(s.MaxQueued), int64(s.MaxQueuedPerTenant), int64(s.MaxInFlight), int64(s.MaxInFlightPerTenant),
		int64(s.PriorityAging), int64(s.DeadLetters.PerTenant), int64(s.DeadLetters.For),
	}
}

func (n numbers) settings() Settings {
	return Settings{
		MaxQueued: int(n[0]), MaxQueuedPerTenant: int(n[1]), MaxInFlight: int(n[2]), MaxInFlightPerTenant: int(n[3]),
		PriorityAging: time.Duration(n[4]), DeadLetters: Retention{PerTenant: int(n[5]), For: time.Duration(n[6])},
	}
}

// show returns a setting for messages.
func (n numbers) show(i int) any {
	if i == 4 || i == 6 {
		return time.Duration(n[i])
	}
	return n[i]
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
func (e *engine) follow(n numbers) {
	s := n.settings()
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
// may go on, or dead letters have been kept for long enough.
func needsApply(was, is *Settings) bool {
	a, b := was.MaxInFlightPerTenant, is.MaxInFlightPerTenant
	return a > 0 && (b == 0 || b > a) || was.DeadLetters.For != is.DeadLetters.For
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

func (e *engine) readSettings(ctx context.Context) (n numbers, err error) {
	r, err := e.db.HMGet(ctx, e.prefix[0]+":cfg", settingNames[:]...).Result()
	if err != nil {
		return n, fmt.Errorf("firqredis: %w", err)
	}
	for i := range r {
		n[i] = number(r[i])
	}
	return n, nil
}

// share stores the settings of Config for all clients, and adopts the result.
func (e *engine) share(ctx context.Context, own Settings) error {
	stored, err := e.readSettings(ctx)
	if err != nil {
		return err
	}
	was := stored
	for i, n := range numbersOf(&own) {
		if n == 0 || n == stored[i] {
			continue
		}
		if err := e.db.HSet(ctx, e.prefix[0]+":cfg", settingNames[i], n).Err(); err != nil {
			return fmt.Errorf("firqredis: %w", err)
		}
		if stored[i] = n; was[i] != 0 {
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
	}
	if err := e.fits(s.MaxQueued, s.MaxInFlight); err != nil {
		return err
	}
	n, err := await(ctx, func() (numbers, error) {
		_, err := e.db.Pipelined(ctx, func(t redis.Pipeliner) error {
			for i, v := range numbersOf(&s) {
				if key := e.prefix[0] + ":cfg"; given[i] && v != 0 {
					t.HSet(ctx, key, settingNames[i], strconv.FormatInt(v, 10))
				} else if given[i] {
					t.HDel(ctx, key, settingNames[i])
				}
			}
			return nil
		})
		if err != nil {
			return numbers{}, fmt.Errorf("firqredis: ChangeSettings: %w", err)
		}
		return e.readSettings(ctx)
	})
	if err != nil {
		return err
	}
	e.follow(n)
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
