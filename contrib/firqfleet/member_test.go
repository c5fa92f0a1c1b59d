package firqfleet

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq/gate"
)

// memberEnv makes the test binary a process of a fleet: "name limit kind addresses", as start sets it.
const memberEnv = "FIRQFLEET_MEMBER"

const historyLease = 400 * time.Millisecond

// memberMain serves calls of some tenants, and writes what becomes of its permits: "a NUMBER TIME GRANTED" when it has got one, "r NUMBER
// TIME 0" before it gives it back, "l TOKEN TIME 0" of the end of a lease that it has lost; "j 0 0 0" once it has joined. It ends with
// its input.
func memberMain() {
	var name, kind, addrs string
	var limit int
	if _, err := fmt.Sscan(os.Getenv(memberEnv), &name, &limit, &kind, &addrs); err != nil {
		panic(err)
	}
	var mu sync.Mutex
	say := func(kind string, n uint64, at, since int64) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = fmt.Fprintln(os.Stdout, kind, n, at, since)
	}
	redis.SetLogger(silent{})
	g := memberOf(name, limit, universal(kind, strings.Split(addrs, ",")), func(l Lease) { say("l", l.Token, l.Until.UnixNano(), 0) })
	say("j", 0, 0, 0)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	var wg sync.WaitGroup
	var permits atomic.Uint64
	for i := range 4 * limit {
		wg.Go(func() {
			for ctx.Err() == nil {
				began := time.Now()
				p, err := g.Acquire(ctx, fmt.Sprint("t", i%3), gate.Request{})
				if err != nil {
					continue
				}
				n := permits.Add(1)
				say("a", n, time.Now().UnixNano(), began.Add(p.Waited()).UnixNano())
				time.Sleep(time.Duration(1+rand.IntN(5)) * time.Millisecond)
				say("r", n, time.Now().UnixNano(), 0)
				p.Release()
				if i%4 == 0 {
					time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
				}
			}
		})
	}
	wg.Wait()
	_ = g.Close()
	<-g.Done()
}

// memberOf joins as soon as there is a server.
func memberOf(name string, limit int, c redis.UniversalClient, lost func(Lease)) *Gate {
	for {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		g, err := New(ctx, limit, Config{Client: c, Name: name, Lease: historyLease, OnLost: lost})
		cancel()
		if err == nil {
			return g
		}
	}
}

// universal returns a client of a single server, of a Sentinel or of a cluster.
func universal(kind string, addrs []string) redis.UniversalClient {
	o := &redis.UniversalOptions{
		Addrs: addrs, IsClusterMode: kind == "cluster", MaxRetries: -1,
		ReadTimeout: 200 * time.Millisecond, DialTimeout: 200 * time.Millisecond, DialerRetries: 1,
	}
	if kind == "sentinel" {
		o.MasterName = "m"
	}
	return redis.NewUniversalClient(o)
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// span is a permit's time.
type span struct{ from, to, granted int64 }

// child is a process of a fleet.
type child struct {
	cmd    *exec.Cmd
	net    *proxy // to a single server; else nil
	stdin  io.Closer
	joined chan struct{}
	ended  chan struct{}
	// Written until ended is closed.
	spans map[uint64]span // by number of the permit; to 0: it is out
	lost  []int64         // when leases ended
}

// start starts a process, and waits until it has joined.
func start(t *testing.T, name string, limit int, kind string, addrs ...string) *child {
	t.Helper()
	p := &child{joined: make(chan struct{}), ended: make(chan struct{}), spans: map[uint64]span{}}
	if kind == "single" {
		p.net = newProxy(t, addrs[0])
		addrs = []string{p.net.addr()}
	}
	p.cmd = exec.Command(os.Args[0]) //nolint:gosec // itself
	p.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %s %s", memberEnv, name, limit, kind, strings.Join(addrs, ",")))
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() }) // where the test has ended early
	go p.read(out)
	select {
	case <-p.joined:
	case <-p.ended:
		t.Fatal("the process ended before it joined")
	case <-time.After(patience):
		t.Fatal("the process does not join")
	}
	return p
}

// read notes what the process says.
func (p *child) read(out io.Reader) {
	defer close(p.ended)
	for s := bufio.NewScanner(out); s.Scan(); {
		f := strings.Fields(s.Text())
		if len(f) != 4 {
			continue // it was killed while it wrote
		}
		n, _ := strconv.ParseUint(f[1], 10, 64)
		at, _ := strconv.ParseInt(f[2], 10, 64)
		switch f[0] {
		case "j":
			close(p.joined)
		case "a":
			granted, _ := strconv.ParseInt(f[3], 10, 64)
			p.spans[n] = span{from: at, granted: granted}
		case "r":
			s := p.spans[n]
			s.to = at
			p.spans[n] = s
		case "l":
			p.lost = append(p.lost, at)
		}
	}
}

// end ends the spans of what is out, and all of them where a lease ended: others may have those slots from then on.
func (p *child) end(at int64) {
	for n, s := range p.spans {
		if s.to == 0 {
			s.to = at
		}
		for _, l := range p.lost {
			if s.granted <= l && l < s.to {
				s.to = l
			}
		}
		s.to = max(s.to, s.from) // it was stopped before it could say what it got
		p.spans[n] = s
	}
}

// kill ends it as a crash does: what it has out counts until then.
func (p *child) kill() {
	at := time.Now().UnixNano()
	_ = p.cmd.Process.Kill()
	<-p.ended
	_ = p.cmd.Wait()
	p.end(at)
}

// stop lets it serve who waits, and ends it.
func (p *child) stop(t *testing.T) {
	t.Helper()
	_ = p.stdin.Close()
	select {
	case <-p.ended:
	case <-time.After(patience):
		t.Error("the process does not end")
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
	_ = p.cmd.Wait()
	p.end(time.Now().UnixNano())
}
