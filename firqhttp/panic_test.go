package firqhttp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
)

// ways in which a function ends the goroutine that called it.
var ways = map[string]func(){
	"panics":  func() { panic("broken") },
	"exits":   func() { runtime.Goexit() },
	"aborts":  func() { panic(http.ErrAbortHandler) },
	"crashes": func() { _ = []int{}[len(os.Args)] },
}

// badBody is a body whose Read does something.
type badBody struct{ do func() }

func (b badBody) Read([]byte) (int, error) { b.do(); return 0, io.EOF }
func (badBody) Close() error               { return nil }

// badWriter is a ResponseWriter whose method does something.
type badWriter struct {
	http.ResponseWriter
	do func()
}

func (w badWriter) Unwrap() http.ResponseWriter { w.do(); return w.ResponseWriter }

// TestFunctionsMayPanic: whichever function ends the request, wherever that is, and
// however: no slot is lost, no request is counted as waiting, each request counts once,
// and is observed once.
func TestFunctionsMayPanic(t *testing.T) {
	type call struct {
		cfg     Config
		gate    gate.Config[string]
		w       func(http.ResponseWriter) http.ResponseWriter
		r       func(*http.Request) *http.Request
		handler http.HandlerFunc
	}
	for name, plant := range map[string]struct {
		in     func(c *call, do func())
		served Reason // what it counts as where a request would be served; "-": Served
		reject Reason // and where it would be rejected
		waits  Reason // and where it would be served, but has to wait; empty: as served
	}{
		"Skip":   {in: func(c *call, do func()) { c.cfg.Skip = func(*http.Request) bool { do(); return false } }, served: Internal, reject: Internal},
		"Tenant": {in: func(c *call, do func()) { c.cfg.Tenant = func(*http.Request) (string, bool) { do(); return "", true } }, served: Internal, reject: Internal},
		"Known": {in: func(c *call, do func()) {
			c.cfg.Tenant = Known(Remote{}.Tenant, func(string) bool { do(); return true })
		}, served: Internal, reject: Internal},
		"Flow":     {in: func(c *call, do func()) { c.cfg.Flow = func(*http.Request) uint64 { do(); return 0 } }, served: Internal, reject: Internal},
		"Cost":     {in: func(c *call, do func()) { c.cfg.Cost = func(*http.Request) int64 { do(); return 0 } }, served: Internal, reject: Internal},
		"Priority": {in: func(c *call, do func()) { c.cfg.Priority = func(*http.Request) firq.Priority { do(); return 0 } }, served: Internal, reject: Internal},
		"QuantumFor": {in: func(c *call, do func()) {
			c.gate.MaxInFlightPerTenant = 1 // so that it is asked in any case
			c.gate.QuantumFor = func(k string) int64 { mine(k, do); return 1 }
		}, served: Internal, reject: Closed},
		"PolicyFor": {in: func(c *call, do func()) {
			c.gate.MaxInFlightPerTenant, c.gate.MaxTenants = 1, 1 // the tenant that holds the slot is that one
			c.gate.PolicyFor = func(k string) firq.Policy { mine(k, do); return firq.Reject }
		}, served: "-", reject: Closed, waits: Internal},
		"Deadline": {in: func(c *call, do func()) {
			c.cfg.Deadline = func(*http.Request) (time.Time, error) { do(); return time.Time{}, nil }
		}, served: Internal, reject: Internal},
		"the body": {in: func(c *call, do func()) {
			c.r = func(r *http.Request) *http.Request { r.Body, r.ContentLength = badBody{do}, 5; return r }
		}, served: Internal, reject: Internal},
		"the context": {in: func(c *call, do func()) {
			c.r = func(r *http.Request) *http.Request { return r.WithContext(badContext{r.Context(), do}) }
		}, served: Internal, reject: Internal},
		"the writer": {in: func(c *call, do func()) {
			c.w = func(w http.ResponseWriter) http.ResponseWriter { return badWriter{w, do} }
		}, served: "-", reject: Closed},
		"the handler": {in: func(c *call, do func()) { c.handler = func(http.ResponseWriter, *http.Request) { do() } }, served: "-", reject: Closed},
		"Reject": {in: func(c *call, do func()) {
			c.cfg.Reject = func(http.ResponseWriter, *http.Request, Rejection) { do() }
		}, served: "-", reject: Closed},
		"RetryAfter": {in: func(c *call, do func()) {
			c.cfg.RetryAfter = func(*http.Request, Rejection) time.Duration { do(); return 0 }
		}, served: "-", reject: Closed},
		"Observe": {in: func(c *call, do func()) {
			observe := c.cfg.Observe
			c.cfg.Observe = func(r *http.Request, o Outcome) { observe(r, o); do() }
		}, served: "-", reject: Closed},
	} {
		for way, do := range ways {
			for _, where := range []string{"served", "waits", "rejected"} {
				t.Run(name+" "+way+", "+where, func(t *testing.T) {
					var seen []Outcome
					c := call{
						cfg:     Config{Observe: func(_ *http.Request, o Outcome) { seen = append(seen, o) }},
						w:       func(w http.ResponseWriter) http.ResponseWriter { return w },
						r:       func(r *http.Request) *http.Request { return r },
						handler: func(http.ResponseWriter, *http.Request) {},
					}
					plant.in(&c, do)
					g := gate.New(1, c.gate)
					m := New(g, c.cfg)
					var p gate.Permit[string]
					switch where {
					case "waits":
						p = hold(t, g)
					case "rejected":
						g.Close()
					}
					ended := make(chan bool)
					go func() {
						defer close(ended)
						defer func() { _ = recover() }()
						m.Handler(c.handler).ServeHTTP(c.w(httptest.NewRecorder()), c.r(httptest.NewRequest("POST", "/", strings.NewReader("x"))))
					}()
					if where == "waits" {
						until(t, "it waits, or has ended", func() bool {
							select {
							case <-ended:
								return true
							default:
								return g.Stats().Queue.QueueLen == 1
							}
						})
						p.Release()
					}
					select {
					case <-ended:
					case <-time.After(10 * time.Second):
						t.Fatal("it never ends")
					}
					idle(t, g, m)
					want := plant.served
					switch {
					case where == "rejected":
						want = plant.reject
					case where == "waits" && plant.waits != "":
						want = plant.waits
					}
					st := m.Stats()
					if want == "-" && (st.Served != 1 || len(st.Rejected) != 0) || want != "-" && (st.Served != 0 || len(st.Rejected) != 1 || st.Rejected[want] != 1) {
						t.Errorf("%+v, want one %s", st, want)
					}
					if len(seen) != 1 || want == "-" && seen[0].Reason != "" || want != "-" && (seen[0].Reason != want || seen[0].Err == nil) {
						t.Errorf("observed %+v, want one %s", seen, want)
					}
					if aborts := want == Internal || want == "-" && strings.HasPrefix(name, "the ") || want == Closed && strings.HasPrefix(name, "Re"); len(seen) == 1 && seen[0].Aborted != aborts {
						t.Errorf("aborted: %t", seen[0].Aborted)
					}
					if where != "rejected" { // the slot is there
						if p, ok := g.TryAcquire("a", gate.Request{}); !ok {
							t.Error("the slot is lost")
						} else {
							p.Release()
						}
					}
				})
			}
		}
	}
}

// mine does something for the tenant of the requests.
func mine(tenant string, do func()) {
	if tenant == "192.0.2.1" {
		do()
	}
}

// badContext does something when it is asked whether it is done.
type badContext struct {
	context.Context
	do func()
}

func (c badContext) Done() <-chan struct{} { c.do(); return nil }

// hijacks is a ResponseWriter that can be hijacked.
type hijacks struct {
	http.ResponseWriter
	conn net.Conn
}

func (h hijacks) Hijack() (net.Conn, *bufio.ReadWriter, error) { return h.conn, nil, nil }

// TestHijackAndPanic: a handler that hijacked and did not return leaves no handler that
// would close the connection, so the slot is free; a goroutine that closes it later frees no
// other.
func TestHijackAndPanic(t *testing.T) {
	for way, do := range ways {
		for _, closed := range []bool{false, true} {
			t.Run(fmt.Sprint(way, ", closed before: ", closed), func(t *testing.T) {
				g := gate.New(2, gate.Config[string]{})
				m := New(g, Config{})
				other := hold(t, g)
				a, b := net.Pipe()
				defer b.Close()
				conns := make(chan net.Conn, 1)
				ended := make(chan bool)
				go func() {
					defer close(ended)
					defer func() { _ = recover() }()
					m.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
						c, _, err := w.(http.Hijacker).Hijack()
						if err != nil {
							t.Error(err)
						}
						if closed {
							c.Close()
						}
						conns <- c
						do()
					})).ServeHTTP(hijacks{httptest.NewRecorder(), a}, get("a"))
				}()
				<-ended
				if g.InUse() != 1 || m.Stats().InFlight != 0 {
					t.Errorf("in use %d, in flight %d", g.InUse(), m.Stats().InFlight)
				}
				(<-conns).Close()
				if g.InUse() != 1 || m.Stats().InFlight != 0 {
					t.Errorf("closed: in use %d, in flight %d", g.InUse(), m.Stats().InFlight)
				}
				other.Release()
				idle(t, g, m)
			})
		}
	}
}

// TestOpen: what New panics with is an error of Open.
func TestOpen(t *testing.T) {
	if _, err := Open(nil, Config{}); !errors.Is(err, firq.ErrInvalidArgument) || !strings.Contains(err.Error(), "gate") {
		t.Errorf("%v", err)
	}
	if m, err := Open(gate.New(1, gate.Config[string]{}), Config{}); m == nil || err != nil {
		t.Errorf("%v, %v", m, err)
	}
}
