package firqredis

import (
	"context"
	"crypto/sha1" //nolint:gosec // how the server names scripts
	"embed"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// version is that of the stored format. A client that finds a newer one does not touch the queue, and one that finds an older
// one uses the queue only if it is empty. 2: tasks without their default values.
const version = 2

//go:embed lua/*.lua
var files embed.FS

// script is a Lua script of the folder lua.
type script struct{ name, source, sha string }

func load(name string, common bool) *script {
	read := func(name string) string {
		b, err := files.ReadFile("lua/" + name + ".lua")
		if err != nil {
			panic(err)
		}
		return string(b)
	}
	s := &script{name: name, source: read(name)}
	if common {
		s.source = read("common") + s.source
	}
	// What brings in what is due is a part of the scripts that say where, and so are the functions for buckets.
	s.source = strings.Replace(s.source, "--DUE--\n", read("due"), 1)
	s.source = strings.Replace(s.source, "--COMMON--\n", read("common"), 1)
	if strings.Contains(s.source, "--ACK--\n") {
		ack := strings.Replace(read("ack"), "--KEEP--\n", "keep(id, keeps[j].us, keeps[j].result)\n", 1)
		s.source = strings.Replace(s.source, "--ACK--\n", ack, 1)
	}
	s.source = strings.ReplaceAll(s.source, "--BUCKET--\n", read("bucket"))
	sum := sha1.Sum([]byte(s.source)) //nolint:gosec // see above
	s.sha = hex.EncodeToString(sum[:])
	return s
}

var (
	pushScript = load("push", false)
	popScript  = load("pop", false)
	ackScript  = load("ack", false)
	keepScript = load("keep", false)

	nackScript     = load("nack", true)
	releaseScript  = load("release", true)
	extendScript   = load("extend", true)
	maintainScript = load("maintain", true)
	cancelScript   = load("cancel", true)
	getScript      = load("get", true)
	forgetScript   = load("forget", false)
	tenantScript   = load("tenant", true)
	placeScript    = load("place", true)
	pauseScript    = load("pause", true)
	requeueScript  = load("requeue", true)
	purgeScript    = load("purge", true)
	oldestScript   = load("oldest", true)
	tokenScript    = load("token", true)
	scheduleScript = load("schedule", true)
	fireScript     = load("fire", true)
)

// once is a command that the client does not send again after a network error: it may have arrived.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

// run runs a script on a partition.
func (e *engine) run(ctx context.Context, s *script, p int, args []any) (any, error) {
	return e.runOn(ctx, e.db, s, p, args)
}

// Pauses before something is tried again.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
)

// moves is how long a script is sent again while its partition moves to another server.
const moves = 15 * time.Second

// runOn runs a script on a connection. If the server does not know the script, it has not run, and is sent
// whole.
//
// The script names its keys itself, all but two: the prefix, which no key has, and one that is always
// there. While a slot of a cluster moves, one by one, the server therefore sees that one of the keys is
// missing and refuses the script (TRYAGAIN), wherever the others are: it never sees a part of them.
func (e *engine) runOn(ctx context.Context, on processor, s *script, p int, args []any) (any, error) {
	send := func(how, what string) *redis.Cmd {
		all := make([]any, 0, 5+len(args))
		all = append(append(all, how, what, 2, e.prefix[p], e.prefix[p]+":m"), args...)
		cmd := redis.NewCmd(ctx, all...)
		cmd.SetFirstKeyPos(3)
		_ = on.Process(ctx, once{cmd})
		return cmd
	}
	var cmd *redis.Cmd
	for end := time.Now().Add(moves); ; {
		cmd = send("evalsha", s.sha)
		if err := cmd.Err(); err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT") {
			cmd = send("eval", s.source)
		}
		if err := cmd.Err(); err == nil || !redis.IsTryAgainError(err) || time.Now().After(end) || !e.sleepFor(ctx, firstPause) {
			break
		}
	}
	r, err := cmd.Result()
	if err != nil {
		if s == pushScript && strings.HasPrefix(err.Error(), "OOM") {
			return nil, fmt.Errorf("%w: %w", ErrFull, err)
		}
		if strings.Contains(err.Error(), "FIRQVERSION") {
			return nil, ErrVersion
		}
		return nil, fmt.Errorf("firqredis: %s: %w", s.name, err)
	}
	return r, nil
}

type processor interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// runWithSettings runs a script that has the settings, as common.lua reads them, in front of its other arguments. If ctx ends
// first, the script may have run or not.
func (e *engine) runWithSettings(ctx context.Context, s *script, p int, own ...any) (any, error) {
	args := make([]any, 0, 6+len(own))
	now := e.settings()
	args = append(args, now.PriorityAging.Microseconds(), now.MaxInFlightPerTenant, e.o.TenantIdle.Milliseconds(),
		now.DeadLetters.PerTenant, now.DeadLetters.For.Microseconds(), part(now.MaxInFlight, e.partitions, p))
	return await(ctx, func() (any, error) { return e.run(ctx, s, p, append(args, own...)) })
}

// ints returns a reply that is a list of numbers.
func ints(r any) []int64 {
	list, _ := r.([]any)
	n := make([]int64, len(list))
	for i := range list {
		n[i], _ = list[i].(int64)
	}
	return n
}
