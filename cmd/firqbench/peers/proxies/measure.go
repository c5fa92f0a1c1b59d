package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// What is measured. First a service with tiny answers, so that the proxy is what costs; then one that does few requests at a time.
const (
	manySlots = 64 // of the first
	crowd     = 32 // connections

	slots       = 8 // of the second
	each        = 5 * time.Millisecond
	connections = 200 // of the tenant that floods it
	quiets      = 8
	pause       = 50 * time.Millisecond // between requests of a quiet tenant
)

// metrics of a run.
type metrics struct {
	Rate      float64 `json:"rate"`       // requests/s over 32 connections, tiny answers
	Processor float64 `json:"processor"`  // µs of the proxy's processes for one of them; with a fleet those of Redis too
	P50       float64 `json:"p50"`        // µs, one connection
	QuietP50  float64 `json:"quiet_p50"`  // ms, beside the flood, from when a request was due
	QuietP99  float64 `json:"quiet_p99"`  // the same
	QuietLost int     `json:"quiet_lost"` // of quiet tenants: not answered with 200
	Served    float64 `json:"served"`     // of the flood: answers/s
	Refused   float64 `json:"refused"`    // other answers/s
}

func (m metrics) String() string {
	return fmt.Sprintf("%.0f requests/s, %.1f µs of processor time each, p50 %.0f µs; quiet tenants %.1f ms, p99 %.1f ms; the flood gets %.0f/s",
		m.Rate, m.Processor, m.P50, m.QuietP50, m.QuietP99, m.Served)
}

// bench is a run.
type bench struct {
	dir, bin, self string
	load           time.Duration
	started        []*exec.Cmd
}

func (b *bench) run(ctx context.Context, c contestant, m *metrics) (err error) {
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if err := os.Mkdir(b.dir, 0o755); err != nil { //nolint:gosec // G301: workers of nginx are another user's
		return err
	}
	if err := b.costs(ctx, c, m); err != nil {
		return err
	}
	return b.flood(ctx, c, m)
}

// stop ends all processes.
func (b *bench) stop() {
	for _, cmd := range slices.Backward(b.started) {
		_ = cmd.Process.Signal(os.Interrupt)
		killer := time.AfterFunc(2*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		killer.Stop()
	}
	b.started = nil
}

// start starts a program, and waits until it accepts connections.
func (b *bench) start(ctx context.Context, addr string, args ...string) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // programs of ours
	var said bytes.Buffer
	cmd.Dir, cmd.Stderr, cmd.Stdout, cmd.WaitDelay = b.dir, &said, nil, time.Second
	if err := cmd.Start(); err != nil {
		return err
	}
	b.started = append(b.started, cmd)
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		if c, err := net.Dial("tcp", addr); err == nil {
			return c.Close()
		}
	}
	b.stop()
	return fmt.Errorf("%s does not listen: %s", args[0], said.String())
}

// begin starts a service and a proxy before it, and returns its URL and the processes that are the proxy's.
func (b *bench) begin(ctx context.Context, c contestant, service string, j job) (url string, proxy []*exec.Cmd, err error) {
	defer func() {
		if err != nil {
			b.stop()
		}
	}()
	if j.listen, err = freeAddr(); err != nil {
		return "", nil, err
	}
	if j.service, err = freeAddr(); err != nil {
		return "", nil, err
	}
	if err = b.start(ctx, j.service, b.self, serveCommand, service, j.service); err != nil {
		return "", nil, err
	}
	if slices.Contains(c.needs, "redis-server") {
		if j.redis, err = freeAddr(); err != nil {
			return "", nil, err
		}
		_, port, _ := net.SplitHostPort(j.redis)
		if err = b.start(ctx, j.redis, "redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"); err != nil {
			return "", nil, err
		}
	}
	files, args := c.command(b, j)
	for name, text := range files {
		if err = os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o600); err != nil {
			return "", nil, err
		}
	}
	if err = b.start(ctx, j.listen, args...); err != nil {
		return "", nil, err
	}
	return "http://" + j.listen + "/", b.started[1:], nil
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String(), nil
}

// costs measures what a request costs.
func (b *bench) costs(ctx context.Context, c contestant, m *metrics) error {
	url, proxy, err := b.begin(ctx, c, "tiny", job{slots: manySlots, perSecond: 200_000})
	if err != nil {
		return err
	}
	defer b.stop()
	if _, err := b.wrk(ctx, url, crowd, b.load/4); err != nil { // it warms up
		return err
	}
	before, err := processor(proxy)
	if err != nil {
		return err
	}
	w, err := b.wrk(ctx, url, crowd, b.load)
	if err != nil {
		return err
	}
	after, err := processor(proxy)
	if err != nil {
		return err
	}
	if w.requests == 0 || w.refused > 0 {
		return fmt.Errorf("%d requests, %d were refused", w.requests, w.refused)
	}
	m.Rate, m.Processor = float64(w.requests)/w.took.Seconds(), (after-before)*1e6/float64(w.requests)
	if w, err = b.wrk(ctx, url, 1, b.load/2); err != nil {
		return err
	}
	m.P50 = float64(w.p50) / 1e3
	return nil
}

// flood measures quiet tenants while another one floods the service.
func (b *bench) flood(ctx context.Context, c contestant, m *metrics) error {
	url, _, err := b.begin(ctx, c, "slow", job{slots: slots, perSecond: int(slots * time.Second / each / 2)})
	if err != nil {
		return err
	}
	defer b.stop()
	flood := make(chan error, 1)
	settle := max(b.load/4, 500*time.Millisecond)
	go func() {
		w, err := b.wrk(ctx, url, connections, settle+b.load+settle/2)
		m.Served, m.Refused = float64(w.requests-w.refused)/w.took.Seconds(), float64(w.refused)/w.took.Seconds()
		flood <- err
	}()
	time.Sleep(settle)
	took, lost := quiet(ctx, url, b.load)
	if err := <-flood; err != nil {
		return err
	}
	if len(took) == 0 {
		return errors.New("no quiet tenant has got an answer")
	}
	slices.Sort(took)
	at := func(p int) float64 { return took[min(len(took)-1, len(took)*p/100)].Seconds() * 1e3 }
	m.QuietP50, m.QuietP99, m.QuietLost = at(50), at(99), lost
	return nil
}

// quiet sends the requests of the quiet tenants, each when it is due.
func quiet(ctx context.Context, url string, d time.Duration) (took []time.Duration, lost int) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}, Timeout: 30 * time.Second}
	defer client.CloseIdleConnections()
	var mu sync.Mutex
	var all sync.WaitGroup
	ask := func(tenant string, due time.Time) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return
		}
		r.Header.Set("X-Tenant", tenant)
		ok := false
		if resp, err := client.Do(r); err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			ok = err == nil && resp.StatusCode == http.StatusOK
		}
		mu.Lock()
		defer mu.Unlock()
		if ok {
			took = append(took, time.Since(due))
		} else {
			lost++
		}
	}
	for i := range quiets {
		all.Go(func() {
			for due, end := time.Now().Add(pause*time.Duration(i)/quiets), time.Now().Add(d); due.Before(end); due = due.Add(pause) {
				time.Sleep(time.Until(due))
				all.Go(func() { ask(fmt.Sprint("quiet", i), due) })
			}
		})
	}
	all.Wait()
	return took, lost
}

// load is what wrk says.
type load struct {
	requests, refused int // refused: of requests
	took, p50         time.Duration
}

var (
	requestsIn = regexp.MustCompile(`(\d+) requests in ([\d.]+m?s|[\d.]+m)`)
	non2xx     = regexp.MustCompile(`Non-2xx or 3xx responses: (\d+)`)
	half       = regexp.MustCompile(`50%\s+([\d.]+[um]?s)`)
)

// wrk sends requests of the tenant noisy.
func (b *bench) wrk(ctx context.Context, url string, connections int, d time.Duration) (load, error) {
	seconds := max(1, int(d.Seconds()+0.5))                                                                                                                                       // it knows whole ones
	cmd := exec.CommandContext(ctx, "wrk", "-t1", "-c", strconv.Itoa(connections), "-d", fmt.Sprint(seconds, "s"), "--timeout", "30s", "--latency", "-H", "X-Tenant: noisy", url) //nolint:gosec // ours
	out, err := cmd.CombinedOutput()
	if err != nil {
		return load{took: 1}, fmt.Errorf("wrk: %w: %s", err, out)
	}
	return parseWrk(string(out))
}

func parseWrk(out string) (l load, err error) {
	l.took = 1
	in, mid := requestsIn.FindStringSubmatch(out), half.FindStringSubmatch(out)
	if in == nil || mid == nil {
		return l, fmt.Errorf("wrk says %s", out)
	}
	l.requests, _ = strconv.Atoi(in[1])
	if n := non2xx.FindStringSubmatch(out); n != nil {
		l.refused, _ = strconv.Atoi(n[1])
	}
	if l.took, err = time.ParseDuration(in[2]); err != nil {
		return l, err
	}
	l.p50, err = time.ParseDuration(mid[1])
	return l, err
}

// processor returns the processor time in seconds that processes and their children have used.
func processor(of []*exec.Cmd) (sum float64, err error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	for _, path := range stats {
		text, err := os.ReadFile(path) //nolint:gosec // of /proc
		if err != nil {
			continue // it has ended
		}
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		pid, parent := filepath.Base(filepath.Dir(path)), fields[1]
		if !slices.ContainsFunc(of, func(c *exec.Cmd) bool { is := strconv.Itoa(c.Process.Pid); return is == pid || is == parent }) {
			continue
		}
		for _, f := range fields[11:13] { // user, system
			ticks, err := strconv.ParseFloat(f, 64)
			if err != nil {
				return 0, err
			}
			sum += ticks / 100 // USER_HZ
		}
	}
	return sum, nil
}
