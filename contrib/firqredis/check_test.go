package firqredis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

var names atomic.Int64

// open opens its own queue, on which the books are checked when the test ends.
func open[T any](t testing.TB, s *server, c Config[T]) *Queue[T] {
	t.Helper()
	if c.Name == "" {
		c.Name = "q" + strconv.FormatInt(names.Add(1), 10)
	}
	if c.Client == nil {
		c.Client = s.client(t)
	}
	q, err := New(bounded(t), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !closed(q) && !t.Failed() {
			books(t, q)
		}
		if err := q.Close(); err != nil {
			t.Error("Close:", err)
		}
	})
	return q
}

// dump reads a whole partition at one instant.
var dump = redis.NewScript(`
local P, call = KEYS[1], redis.call
local seen, out = {}, {call('HGETALL', P..':d'), call('ZRANGE', P..':z', 0, -1, 'WITHSCORES'), call('ZRANGE', P..':l', 0, -1, 'WITHSCORES'),
  call('ZRANGE', P..':x', 0, -1), call('HKEYS', P..':xr'), call('ZRANGE', P..':r', 0, -1), call('SMEMBERS', P..':a'), call('SMEMBERS', P..':c'),
  call('HGET', P..':m', 'nd') or '9e15', call('ZRANGE', P..':h', 0, -1, 'WITHSCORES')}
local function add(name)
  if not seen[name] then
    seen[name] = true
    local key = P..':t:'..name
    local h = call('HMGET', key, 'i', 'z', 'pz', 'im', 'k')
    out[#out+1] = {name, call('ZRANGE', P..':n:'..name, 0, -1), h[1] or '0', h[2] or '0', h[3] or '', h[4] or '', h[5] or '', call('PTTL', key),
      call('ZRANGE', P..':x:'..name, 0, -1)}
  end
end
local d = out[1]
for k = 2, #d, 2 do add(string.match(d[k], '^[^:]*:([^\n]*)')) end
for _, name in ipairs(out[6]) do add(name) end
for _, name in ipairs(out[7]) do add(name) end
return out`)

// books checks the sums of Stats, and that what the server keeps agrees with itself.
func books[T any](t testing.TB, q *Queue[T]) Stats {
	t.Helper()
	ctx := context.Background()
	s, err := q.Stats(ctx)
	if err != nil {
		t.Error("Stats:", err)
		return s
	}
	if in, out := s.Enqueued+s.Requeued, s.Acked+s.Cancelled+s.Expired+s.Dead+uint64(s.Queued+s.Delayed+s.InFlight); in != out {
		t.Errorf("Enqueued + Requeued = %d, but %d are accounted for: %+v", in, out, s)
	}
	if out := s.Acked + s.Nacked + s.Released + s.LeaseExpired + uint64(s.InFlight); s.Delivered != out {
		t.Errorf("Delivered = %d, but %d have ended or are in flight: %+v", s.Delivered, out, s)
	}
	if left := s.Dead - s.Requeued - s.Purged; uint64(s.DeadLetters) != left {
		t.Errorf("DeadLetters = %d, but Dead - Requeued - Purged = %d: %+v", s.DeadLetters, left, s)
	}
	if s.Queued+s.Delayed+s.InFlight+s.DeadLetters <= 5000 {
		for p := range at(q).prefix {
			if err := at(q).consistent(ctx, p); err != nil {
				t.Errorf("partition %d: %v", p, err)
			}
		}
	}
	return s
}

func texts(r any) []string {
	list, _ := r.([]any)
	all := make([]string, len(list))
	for i := range list {
		all[i], _ = list[i].(string)
	}
	return all
}

// consistent checks a partition: each task is in one place, each tenant's counts are right, and the fair order
// has exactly those tenants that can be served.
func (q *engine) consistent(ctx context.Context, p int) error {
	r, err := dump.Run(ctx, q.db, []string{q.prefix[p]}).Slice()
	if err != nil {
		return err
	}
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	tasks, place := map[string]stored{}, map[string]string{}
	d := texts(r[0])
	for k := 0; k < len(d); k += 2 {
		if tasks[d[k]], err = parse(d[k+1]); err != nil {
			return err
		}
	}
	at := func(id, where string) {
		if place[id] != "" {
			bad("task %q is %s, and %s", id, place[id], where)
		}
		if _, ok := tasks[id]; !ok {
			bad("task %q is %s, but unknown", id, where)
		}
		place[id] = where
	}
	delayed, inFlight, dead := map[string]int{}, map[string]int{}, map[string]int{}
	due, leases := texts(r[1]), texts(r[2])
	nd, _ := strconv.ParseFloat(r[8].(string), 64)
	held := texts(r[9])
	for _, zs := range [][]string{due, leases, held} {
		if len(zs) > 0 {
			if first, _ := strconv.ParseFloat(zs[1], 64); nd > first {
				bad("next due is %v, but the first one is due %v", nd, first)
			}
		}
	}
	for k := 0; k < len(due); k += 2 {
		at(due[k], "delayed")
		delayed[tasks[due[k]].tenant]++
	}
	for k := 0; k < len(leases); k += 2 {
		id, _, _ := strings.Cut(leases[k], "\n")
		at(id, "in flight")
		inFlight[tasks[id].tenant]++
	}
	for _, id := range texts(r[3]) {
		at(id, "dead")
		dead[tasks[id].tenant]++
		if !slices.Contains(texts(r[4]), id) {
			bad("dead letter %q has no reason", id)
		}
	}
	for _, id := range texts(r[7]) {
		if place[id] != "in flight" {
			bad("task %q is marked as cancelled, but %s", id, place[id])
		}
	}
	for _, x := range r[10:] {
		if tenant := x.([]any); (tenant[4] == "r") != slices.Contains(held, tenant[0].(string)) {
			bad("tenant %q: paused: %q, but held back: %q", tenant[0], tenant[4], held)
		}
		errs = append(errs, q.tenantConsistent(x.([]any), texts(r[5]), texts(r[6]), delayed, inFlight, dead, at))
	}
	for id := range tasks {
		if place[id] == "" {
			bad("task %q is nowhere", id)
		}
	}
	return errors.Join(errs...)
}

func (q *engine) tenantConsistent(x []any, ready, active []string, delayed, inFlight, dead map[string]int, at func(id, where string)) error {
	name := x[0].(string)
	n, letters, ttl := texts(x[1]), texts(x[8]), x[7].(int64)
	for _, id := range n {
		at(id, "queued")
	}
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("tenant %q: %s", name, fmt.Sprintf(format, args...)))
	}
	if number(x[2]) != int64(inFlight[name]) || number(x[3]) != int64(delayed[name]) || len(letters) != dead[name] {
		bad("%v in flight, %v delayed, %d dead, but there are %d, %d and %d", x[2], x[3], len(letters), inFlight[name], delayed[name], dead[name])
	}
	most := q.Settings().MaxInFlightPerTenant
	if x[5] != "" {
		most = int(number(x[5]))
	}
	if can := len(n) > 0 && x[4] == "" && (most == 0 || inFlight[name] < most); can != slices.Contains(ready, name) {
		bad("can be served: %t, but in the fair order: %t", can, !can)
	}
	busy := len(n)+inFlight[name]+delayed[name] > 0
	if busy != slices.Contains(active, name) {
		bad("has tasks: %t, but counted among those: %t", busy, !busy)
	}
	if (busy || x[6] != "") && ttl >= 0 || !busy && x[6] == "" && ttl == -1 {
		bad("has tasks: %t, settings: %q, but is remembered for %v", busy, x[6], time.Duration(ttl)*time.Millisecond)
	}
	return errors.Join(errs...)
}
