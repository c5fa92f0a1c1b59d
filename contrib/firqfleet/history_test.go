//go:build unix

package firqfleet

import (
	"cmp"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/firq-go/firq/gate"
)

// historyEnv makes the histories longer: how many times they disturb the processes.
const historyEnv = "FIRQ_FLEET_HISTORY"

const historyLimit = 6

// rounds returns how often a history is disturbed.
func rounds(short int) int {
	if n, _ := strconv.Atoi(os.Getenv(historyEnv)); n > 0 {
		return n
	}
	return short
}

// TestHistory kills processes under load, stops them, cuts them off, and kills their server, which loses its data, and then looks at how
// many slots were in use at each instant. What a process has out when its lease ends counts until then.
//
//	FIRQ_FLEET_HISTORY=400 go test -run TestHistory -v -timeout 30m ./contrib/firqfleet
func TestHistory(t *testing.T) {
	t.Parallel()
	for _, binary := range []string{"redis-server", "valkey-server"} {
		t.Run(binary, func(t *testing.T) {
			if binary != "redis-server" && os.Getenv(historyEnv) == "" {
				t.Skip("long")
			}
			server := own(t, binary)
			h := begin(t, "single", server.addr())
			for round := range rounds(4) {
				h.disturb(round%4, server)
			}
			h.check()
		})
	}
}

// A process is killed with all slots in use: they serve others when its lease has ended.
func TestKilled(t *testing.T) {
	each(t, func(t *testing.T, addr string) {
		n := name()
		p := start(t, n, historyLimit, "single", addr)
		g := join(t, addr, historyLimit, Config{Name: n, Lease: historyLease})
		until(t, "it has all slots", func() bool { return fleet(t, g).InUse == historyLimit })
		p.kill()
		for range historyLimit {
			get(t, g, "x", gate.Request{})
		}
		if f := fleet(t, g); f.Members != 1 || f.InUse != historyLimit || f.Tenants != 0 {
			t.Errorf("%+v", f)
		}
	})
}

// historyOf is a fleet of processes under load.
type historyOf struct {
	t         *testing.T
	name      string
	kind      string
	addrs     []string
	all, live []*child
	counts    map[string]int
}

func begin(t *testing.T, kind string, addrs ...string) *historyOf {
	h := &historyOf{t: t, name: name(), kind: kind, addrs: addrs, counts: map[string]int{}}
	for range 4 {
		h.live = append(h.live, h.add())
	}
	time.Sleep(historyLease)
	return h
}

func (h *historyOf) add() *child {
	p := start(h.t, h.name, historyLimit, h.kind, h.addrs...)
	h.all = append(h.all, p)
	return p
}

// disturb does something to a process, or to the server, and lets the fleet come to rest again.
func (h *historyOf) disturb(what int, server *process) {
	i := rand.IntN(len(h.live))
	p := h.live[i]
	long := historyLease + historyLease/2
	some := func(d time.Duration) { time.Sleep(time.Duration(rand.Int64N(int64(d)))) }
	switch what {
	case 0:
		h.counts["killed"]++
		p.kill()
		h.live[i] = h.add()
	case 1:
		h.counts["stopped"]++
		_ = p.cmd.Process.Signal(syscall.SIGSTOP)
		some(2 * long)
		_ = p.cmd.Process.Signal(syscall.SIGCONT)
	case 2:
		h.counts["cut off"]++
		if rand.IntN(2) == 0 {
			p.net.sever()
		} else {
			p.net.hang()
		}
		some(2 * long)
		p.net.resume()
	case 3:
		h.counts["server killed"]++
		server.kill()
		some(long)
		if err := server.start(); err != nil {
			h.t.Fatal(err)
		}
		time.Sleep(historyLease)
	}
	time.Sleep(historyLease)
}

// check ends the processes, and adds up what was in use.
func (h *historyOf) check() {
	h.t.Helper()
	for _, p := range h.live {
		p.stop(h.t)
	}
	type event struct {
		at int64
		by int
	}
	var events []event
	permits, disturbed := 0, 0
	for _, p := range h.all {
		permits += len(p.spans)
		for _, s := range p.spans {
			events = append(events, event{s.from, 1}, event{s.to, -1})
		}
	}
	for _, n := range h.counts {
		disturbed += n
	}
	// Of the same instant those that give back come first.
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	use, most := 0, 0
	for _, e := range events {
		use += e.by
		most = max(most, use)
	}
	h.t.Logf("%v: %d permits of %d processes, at most %d slots of %d in use", h.counts, permits, len(h.all), most, historyLimit)
	if most > historyLimit || most < historyLimit-1 || permits < 20*disturbed {
		h.t.Errorf("at most %d in use, of %d; %d permits", most, historyLimit, permits)
	}
}
