package firqredis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// binaries runs a test with its own servers, once with Redis and once with Valkey.
func binaries(t *testing.T, f func(t *testing.T, binary string)) {
	t.Parallel()
	for _, binary := range []string{"redis-server", "valkey-server"} {
		t.Run(binary, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(binary); err != nil {
				if os.Getenv("CI") == "true" {
					t.Fatal(err)
				}
				t.Skip(err)
			}
			f(t, binary)
		})
	}
}

// ownOf starts a server for one test.
func ownOf(t *testing.T, binary string, args ...string) (*server, *process) {
	t.Helper()
	p, err := newProcess(binary, t.TempDir(), args...)
	ok(t, err)
	ok(t, p.start())
	t.Cleanup(p.kill)
	return &server{name: "own", addrs: []string{p.addr()}}, p
}

// story is what a queue was told before and after an instant, from which on a server forgets.
type story struct {
	q       *Queue[string]
	items   []*Item[string] // delivered before, and not settled then
	queued  []string        // acknowledged before
	after   []string        // acknowledged later
	settled map[string]bool // before, or by a server that does not forget
	acked   map[string]bool // later
}

// begin enqueues 50 tasks, takes 20 of them, and acks 10.
func begin(t *testing.T, q *Queue[string]) *story {
	t.Helper()
	s := &story{q: q, settled: map[string]bool{}, acked: map[string]bool{}}
	for k := range 50 {
		s.queued = append(s.queued, put(t, q, job{Tenant: fmt.Sprint("t", k%5)})...)
	}
	its := now(t, q, 20)
	same(t, "delivered", len(its), 20)
	for _, it := range its[:10] {
		s.settle(t, q, it)
	}
	s.items = its[10:]
	return s
}

// settle acks a task for good.
func (s *story) settle(t *testing.T, q *Queue[string], it *Item[string]) {
	t.Helper()
	ok(t, q.Ack(bounded(t), it))
	s.settled[it.ID] = true
}

// goOn enqueues 30 tasks, and acks the ten that are in flight.
func (s *story) goOn(t *testing.T) {
	t.Helper()
	for k := range 30 {
		s.after = append(s.after, put(t, s.q, job{Tenant: fmt.Sprint("t", k%5)})...)
	}
	for _, it := range s.items {
		ok(t, s.q.Ack(bounded(t), it))
		s.acked[it.ID] = true
	}
}

// end works off what a server has. All that was queued before is there, unless it was settled. It returns how many tasks
// of those that came later are lost, and how many come again that were acked later.
func (s *story) end(t *testing.T, q *Queue[string]) (lost, again int) {
	t.Helper()
	endLeases(t, q)
	if _, err := at(q).runWithSettings(bounded(t), maintainScript, 0, 100); err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for its := now(t, q, 100); len(its) > 0; its = now(t, q, 100) {
		for _, it := range its {
			there[it.ID] = true
		}
		ok(t, q.Ack(bounded(t), its...))
	}
	for _, id := range s.queued {
		switch {
		case s.acked[id]:
			if there[id] {
				again++
			}
		case there[id] == s.settled[id]:
			t.Errorf("%s, queued before: there: %t, settled: %t", id, there[id], s.settled[id])
		}
	}
	for _, id := range s.after {
		if !there[id] {
			lost++
		}
	}
	books(t, q)
	t.Logf("%d of %d lost, %d of %d acks forgotten", lost, len(s.after), again, len(s.acked))
	return lost, again
}

// forgets checks that all that came after the instant was forgotten, remembers that nothing was.
func (s *story) forgets(t *testing.T, q *Queue[string]) {
	t.Helper()
	lost, again := s.end(t, q)
	same(t, "lost", lost, len(s.after))
	same(t, "acks forgotten", again, len(s.acked))
}

func (s *story) remembers(t *testing.T, q *Queue[string]) {
	t.Helper()
	lost, again := s.end(t, q)
	same(t, "lost", lost, 0)
	same(t, "acks forgotten", again, 0)
}

// The server is killed, and keeps snapshots only.
func TestSnapshots(t *testing.T) {
	binaries(t, func(t *testing.T, binary string) {
		s, p := ownOf(t, binary)
		q := open(t, s, Config[string]{})
		st := begin(t, q)
		ok(t, at(q).db.Save(bounded(t)).Err())
		st.goOn(t)
		p.kill()
		ok(t, p.start())
		st.forgets(t, q)
	})
}

// The machine dies: nothing is left of the append-only file but what was on the disk.
func TestMachineDies(t *testing.T) {
	binaries(t, func(t *testing.T, binary string) {
		for _, fsync := range []string{"everysec", "always"} {
			s, m := machineOf(t, binary, fsync)
			q := open(t, s, Config[string]{})
			st := begin(t, q)
			until(t, "what came first is on the disk", func() bool {
				return info(at(q).db, "persistence", "aof_buffer_length") == "0" && m.onDisk(t) == m.written(t)
			})
			left := m.onDisk(t)
			st.goOn(t)
			if fsync == "always" {
				left = m.onDisk(t)
			}
			m.kill()
			ok(t, os.Truncate(m.file(t), left))
			ok(t, m.start())
			if fsync == "always" {
				st.remembers(t, q)
			} else {
				st.forgets(t, q) // it died before it synced again
			}
		}
	})
}

// The server is killed, and the machine lives: what it had written is kept, whether it is on the disk or not. But with everysec it
// does not write while an fsync is under way, for up to 2 s.
func TestKilledEverysec(t *testing.T) {
	binaries(t, func(t *testing.T, binary string) {
		for _, during := range []bool{false, true} {
			s, m := machineOf(t, binary, "everysec")
			q := open(t, s, Config[string]{})
			st := begin(t, q)
			pending := func(n string) func() bool {
				return func() bool { return info(at(q).db, "persistence", "aof_pending_bio_fsync") == n }
			}
			until(t, "what came first is on the disk", func() bool {
				return info(at(q).db, "persistence", "aof_buffer_length") == "0" && m.onDisk(t) == m.written(t) && pending("0")()
			})
			if during {
				ok(t, os.WriteFile(m.hold, nil, 0o600))
				put(t, q, job{}) // so that there is something to sync
				until(t, "an fsync is under way", pending("1"))
			}
			st.goOn(t)
			if !during {
				until(t, "no fsync is under way", func() bool { return pending("0")() && info(at(q).db, "persistence", "aof_buffer_length") == "0" })
			}
			m.kill()
			if !during {
				ok(t, m.start())
				st.remembers(t, q)
				continue
			}
			ok(t, os.Remove(m.hold))
			ok(t, m.start())
			if lost, again := st.end(t, q); lost == 0 || again == 0 { // after 2 s it would have written some of it
				t.Errorf("%d tasks lost, %d acks forgotten", lost, again)
			}
		}
	})
}

// machine is a server of which a test knows what it has on the disk.
type machine struct {
	*process
	note string // where the server says how many bytes it has synced
	hold string // while there is such a file, a sync goes on
}

func machineOf(t *testing.T, binary, fsync string) (*server, *machine) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("LD_PRELOAD and /proc are Linux's")
	}
	cc, err := exec.LookPath("cc")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	dir := t.TempDir()
	lib, note := filepath.Join(dir, "synced.so"), filepath.Join(dir, "synced")
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-o", lib, "testdata/synced.c", "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p, err := newProcess(binary, dir, "--appendonly", "yes", "--appendfsync", fsync)
	ok(t, err)
	hold := filepath.Join(dir, "hold")
	p.env = []string{"LD_PRELOAD=" + lib, "SYNCED=" + note, "HOLD=" + hold}
	ok(t, p.start())
	t.Cleanup(p.kill)
	return &server{name: "own", addrs: []string{p.addr()}}, &machine{p, note, hold}
}

// onDisk returns how many bytes of the append-only file the last sync has left there.
func (m *machine) onDisk(t *testing.T) int64 {
	t.Helper()
	b, err := os.ReadFile(m.note)
	if errors.Is(err, os.ErrNotExist) || len(b) == 0 {
		return 0 // none yet
	}
	ok(t, err)
	n, err := strconv.ParseInt(string(b), 10, 64)
	ok(t, err)
	return n
}

// written returns how many bytes it has been given.
func (m *machine) written(t *testing.T) int64 {
	t.Helper()
	i, err := os.Stat(m.file(t))
	ok(t, err)
	return i.Size()
}

func (m *machine) file(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(m.dir, "appendonlydir", "*.incr.aof"))
	ok(t, err)
	same(t, "files", len(files), 1)
	return files[0]
}

// pair is a primary, and a replica that a network connects with it.
type pair struct {
	primary, replica *server
	p                *process // the primary's
	link             *proxy
	to               *redis.Client // the replica
}

func newPair(t *testing.T, binary string) *pair {
	t.Helper()
	s, p := ownOf(t, binary, "--repl-diskless-sync-delay", "0")
	rs, _ := ownOf(t, binary)
	x := &pair{primary: s, replica: rs, p: p, link: startProxy(t, p.addr()), to: redis.NewClient(&redis.Options{Addr: rs.addrs[0]})}
	t.Cleanup(func() { _ = x.to.Close() })
	host, port, _ := strings.Cut(x.link.addr(), ":")
	ok(t, x.to.ReplicaOf(bounded(t), host, port).Err())
	until(t, "the replica is in step", func() bool {
		return strings.Contains(x.to.Info(context.Background(), "replication").Val(), "master_link_status:up")
	})
	return x
}

// inStep waits until the replica has all that the primary wrote.
func (x *pair) inStep(t *testing.T) {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: x.primary.addrs[0], PoolSize: 1})
	defer func() { _ = c.Close() }()
	until(t, "the replica is in step", func() bool {
		offset := info(c, "replication", "master_repl_offset")
		return offset != "" && offset == info(x.to, "replication", "slave_repl_offset")
	})
}

// info returns what a server says of itself.
func info(c redis.Cmdable, section, name string) string {
	_, rest, _ := strings.Cut(c.Info(context.Background(), section).Val(), name+":")
	value, _, _ := strings.Cut(rest, "\r\n")
	return value
}

// promote makes the replica a primary, and returns a client of the queue there.
func (x *pair) promote(t *testing.T, name string) *Queue[string] {
	t.Helper()
	ok(t, x.to.ReplicaOf(bounded(t), "no", "one").Err())
	return open(t, x.replica, Config[string]{Name: name})
}

// The primary is killed while its replica lags, and the replica takes its place: replication is asynchronous.
func TestReplicaLags(t *testing.T) {
	binaries(t, func(t *testing.T, binary string) {
		x := newPair(t, binary)
		q := open(t, x.primary, Config[string]{})
		st := begin(t, q)
		x.inStep(t)
		x.link.down()
		st.goOn(t)
		x.p.kill()
		promoted := x.promote(t, at(q).o.Name)
		st.forgets(t, promoted)
		ok(t, q.Close())
	})
}

// The same with WaitReplicas: Enqueue says which tasks no replica has.
func TestReplicaLagsAndIsWaitedFor(t *testing.T) {
	binaries(t, func(t *testing.T, binary string) {
		x := newPair(t, binary)
		q := open(t, x.primary, Config[string]{WaitReplicas: 1})
		st := begin(t, q)
		put(t, q, job{}) // acks are not waited for, but what comes before this task is there
		x.link.down()
		rs, err := q.EnqueueBatch(bounded(t), many("t", 30))
		want(t, err, ErrNotReplicated)
		for _, r := range rs {
			want(t, r.Err, ErrNotReplicated)
			st.after = append(st.after, r.ID)
		}
		x.p.kill()
		promoted := x.promote(t, at(q).o.Name)
		st.forgets(t, promoted)
		ok(t, q.Close())
	})
}

// With min-replicas-to-write a primary that has lost its replicas takes nothing more, and so nothing is lost with it. What it has
// cannot be settled there either: it is settled where the replica has become the primary.
func TestMinReplicas(t *testing.T) {
	binaries(t, func(t *testing.T, binary string) {
		x := newPair(t, binary)
		q := open(t, x.primary, Config[string]{})
		st := begin(t, q)
		x.inStep(t)
		ctx := bounded(t)
		ok(t, at(q).db.ConfigSet(ctx, "min-replicas-to-write", "1").Err())
		x.link.down()
		primary, isOne := at(q).db.(*redis.Client)
		same(t, "one server", isOne, true)
		until(t, "the primary misses its replica", func() bool {
			return strings.Contains(primary.Info(ctx, "replication").Val(), "connected_slaves:0")
		})
		if _, err := q.Enqueue(ctx, job{}); err == nil || !strings.Contains(err.Error(), "NOREPLICAS") {
			t.Errorf("Enqueue: %v", err)
		}
		same(t, "Queued", must(q.Stats(ctx)).Queued, 30)
		for name, err := range map[string]error{
			"Ack":     q.Ack(ctx, st.items[0]),
			"Nack":    q.Nack(ctx, st.items[0], Retry{}),
			"Extend":  q.Extend(ctx, 0, st.items[0]),
			"Release": q.Release(ctx, st.items[0]),
		} {
			if err == nil || errors.Is(err, ErrLeaseLost) || !strings.Contains(err.Error(), "NOREPLICAS") {
				t.Errorf("%s: %v", name, err)
			}
		}
		x.p.kill()
		promoted := x.promote(t, at(q).o.Name)
		st.settle(t, promoted, st.items[0]) // the lease is known there
		st.remembers(t, promoted)
		ok(t, q.Close())
	})
}

// The network splits, and a replica takes the place of a primary that goes on. What that one takes is lost when it comes back as
// a replica; what both have is delivered by both, and settled once.
func TestSplit(t *testing.T) {
	binaries(t, func(t *testing.T, binary string) {
		x := newPair(t, binary)
		q, ctx := open(t, x.primary, Config[string]{}), bounded(t)
		st := begin(t, q)
		x.inStep(t)
		x.link.down()
		promoted := x.promote(t, at(q).o.Name)
		st.goOn(t)
		here, there := now(t, q, 20), now(t, promoted, 20)
		twice := map[string]*Item[string]{}
		for _, it := range here {
			twice[it.ID] = it
		}
		both := 0
		for _, it := range there {
			if old := twice[it.ID]; old != nil {
				both++
				want(t, promoted.Ack(ctx, old), ErrLeaseLost) // another token
				st.settle(t, promoted, it)
			}
		}
		if both == 0 {
			t.Error("no task was delivered by both")
		}
		host, port, _ := strings.Cut(x.replica.addrs[0], ":")
		old := redis.NewClient(&redis.Options{Addr: x.primary.addrs[0]})
		t.Cleanup(func() { _ = old.Close() })
		ok(t, q.Close())
		ok(t, old.ReplicaOf(ctx, host, port).Err())
		st.forgets(t, promoted)
	})
}
