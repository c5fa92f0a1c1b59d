package firqredis

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Settings are those on which all clients of a queue have to agree, so they live with the queue. A New whose Config sets one of them sets it
// for all clients, which follow within 10 s; where Config leaves it 0, the queue's is in force. If another client had set it to
// something else, New logs a warning that names it. ChangeSettings can reset it.
type Settings struct {
	MaxQueued, MaxQueuedPerTenant, MaxInFlight, MaxInFlightPerTenant int // 0: none
	PriorityAging                                                    time.Duration
	DeadLetters                                                      Retention
}

// SettingsChange names settings to change; a nil field stays as it is. 0: as if no client had set it.
type SettingsChange struct {
	MaxQueued, MaxQueuedPerTenant, MaxInFlight, MaxInFlightPerTenant *int
	PriorityAging                                                    *time.Duration
	DeadLettersPerTenant                                             *int
	DeadLettersFor                                                   *time.Duration
}

// settingNames are the fields of Config, and of the hash that has them, in the order of numbers.
var settingNames = [...]string{
	"MaxQueued", "MaxQueuedPerTenant", "MaxInFlight", "MaxInFlightPerTenant", "PriorityAging", "DeadLetters.PerTenant", "DeadLetters.For",
}

// numbers are settings as they are stored; 0: not stored.
type numbers [len(settingNames)]int64

func (s *Settings) numbers() numbers {
	return numbers{
		int64(s.MaxQueued), int64(s.MaxQueuedPerTenant), int64(s.MaxInFlight), int64(s.MaxInFlightPerTenant),
		int64(s.PriorityAging), int64(s.DeadLetters.PerTenant), int64(s.DeadLetters.For),
	}
}

func (n numbers) settings() Settings {
	return Settings{int(n[0]), int(n[1]), int(n[2]), int(n[3]), time.Duration(n[4]), Retention{int(n[5]), time.Duration(n[6])}}
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
func (q *Queue[T]) settings() *inForce {
	s := q.shared.Load()
	if time.Since(s.read) > settingsEvery && q.reading.CompareAndSwap(false, true) {
		go func() {
			defer q.reading.Store(false)
			ctx, cancel := context.WithTimeout(context.Background(), settingsEvery)
			defer cancel()
			if n, err := q.readSettings(ctx); err == nil {
				q.follow(n)
				_ = q.apply(ctx) // else again later
			} else { // the old ones, and again later
				q.shared.CompareAndSwap(s, &inForce{s.Settings, time.Now(), s.applied})
			}
		}()
	}
	return s
}

// Settings returns the settings in force, with defaults filled in. PriorityAging of strict priorities is 0.
func (q *Queue[T]) Settings() Settings {
	s := q.shared.Load().Settings
	if s.PriorityAging == strict {
		s.PriorityAging = 0
	}
	return s
}

// follow adopts stored settings.
func (q *Queue[T]) follow(n numbers) {
	s := n.settings()
	set(&s.PriorityAging, strict)
	set(&s.DeadLetters.PerTenant, DefaultDeadLettersPerTenant)
	set(&s.DeadLetters.For, DefaultDeadLettersFor)
	if s.DeadLetters.For < 0 {
		s.DeadLetters.For = -time.Second // for the scripts, which count microseconds
	}
	was := q.shared.Load()
	q.shared.Store(&inForce{s, time.Now(), was == nil || was.applied && !needsApply(&was.Settings, &s)})
}

// needsApply reports whether settings change anything for present tasks: tenants that are held back at their limit in flight
// may go on, or dead letters have been kept for long enough.
func needsApply(was, is *Settings) bool {
	a, b := was.MaxInFlightPerTenant, is.MaxInFlightPerTenant
	return a > 0 && (b == 0 || b > a) || was.DeadLetters.For != is.DeadLetters.For
}

// apply applies settings to present tasks. Each client does that, because each holds tenants back by the old settings until it follows.
func (q *Queue[T]) apply(ctx context.Context) error {
	s := q.shared.Load()
	if s.applied {
		return nil
	}
	for p := range q.prefix {
		for cursor, more := uint64(0), true; more; more = cursor != 0 {
			names, next, err := q.activeTenants(ctx, p, cursor)
			if err != nil {
				return err
			}
			for some := range slices.Chunk(names, tenantsAtOnce) {
				if _, err := q.runWithSettings(ctx, placeScript, p, anys(some)...); err != nil {
					return err
				}
			}
			cursor = next
		}
		if _, err := q.runWithSettings(ctx, maintainScript, p, dueAtOnce); err != nil {
			return err
		}
	}
	q.shared.CompareAndSwap(s, &inForce{s.Settings, s.read, true})
	return nil
}

func (q *Queue[T]) readSettings(ctx context.Context) (n numbers, err error) {
	r, err := q.db.HMGet(ctx, q.prefix[0]+":cfg", settingNames[:]...).Result()
	if err != nil {
		return n, fmt.Errorf("firqredis: %w", err)
	}
	for i := range r {
		n[i] = number(r[i])
	}
	return n, nil
}

// share stores the settings of Config for all clients, and adopts the result.
func (q *Queue[T]) share(ctx context.Context, own Settings) error {
	stored, err := q.readSettings(ctx)
	if err != nil {
		return err
	}
	was := stored
	for i, n := range own.numbers() {
		if n == 0 || n == stored[i] {
			continue
		}
		if err := q.db.HSet(ctx, q.prefix[0]+":cfg", settingNames[i], n).Err(); err != nil {
			return fmt.Errorf("firqredis: %w", err)
		}
		if stored[i] = n; was[i] != 0 {
			slog.Default().Warn("firqredis: another client had set the queue's "+settingNames[i]+" to another value; this client's holds now for all",
				"queue", q.cfg.Name, "was", was.show(i), "is", stored.show(i))
		}
	}
	q.follow(was)
	q.follow(stored)
	return nil
}

// ChangeSettings changes some of the settings of the queue, for all clients, and leaves the others. firq.ErrInvalidConfig: as in New.
func (q *Queue[T]) ChangeSettings(ctx context.Context, c SettingsChange) error {
	if err := q.call(ctx, "ChangeSettings"); err != nil {
		return err
	}
	var s Settings
	given := [len(settingNames)]bool{
		give(&s.MaxQueued, c.MaxQueued), give(&s.MaxQueuedPerTenant, c.MaxQueuedPerTenant), give(&s.MaxInFlight, c.MaxInFlight),
		give(&s.MaxInFlightPerTenant, c.MaxInFlightPerTenant), give(&s.PriorityAging, c.PriorityAging),
		give(&s.DeadLetters.PerTenant, c.DeadLettersPerTenant), give(&s.DeadLetters.For, c.DeadLettersFor),
	}
	if _, err := (Config[T]{
		Partitions: q.cfg.Partitions, MaxQueued: s.MaxQueued, MaxQueuedPerTenant: s.MaxQueuedPerTenant, MaxInFlight: s.MaxInFlight,
		MaxInFlightPerTenant: s.MaxInFlightPerTenant, PriorityAging: s.PriorityAging, DeadLetters: s.DeadLetters,
	}).resolve(); err != nil {
		return err
	}
	n, err := await(ctx, func() (numbers, error) {
		_, err := q.db.Pipelined(ctx, func(t redis.Pipeliner) error {
			for i, v := range s.numbers() {
				if key := q.prefix[0] + ":cfg"; given[i] && v != 0 {
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
		return q.readSettings(ctx)
	})
	if err != nil {
		return err
	}
	q.follow(n)
	return q.apply(ctx)
}

// give sets a field to a given value.
func give[V any](field, value *V) bool {
	if value == nil {
		return false
	}
	*field = *value
	return true
}
