package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/compute"
	"github.com/firq-go/firq/firqhttp"
	"github.com/firq-go/firq/gate"
)

// The HTTP load: wrk against servers of this process over loopback, so wrk and the server
// share the processors, and only ratios mean something.
const (
	httpKeys  = 1_000 // of the hits
	httpSlots = 8
	httpConns = 64
)

// The handlers: one that only writes, a compute.Server behind firqhttp.JSON, and the same behind
// the gate of firqhttp.
const (
	bare     = "raw handler"
	computed = ours
	gated    = "gate+compute"
)

var httpCases = []struct {
	name string
	kept bool
}{{"http, hits of 1,000 keys", true}, {"http, all misses", false}}

func runHTTP(ctx context.Context, p *plan, f *file, say command.Say) error {
	path, err := exec.LookPath(p.wrk)
	if err != nil {
		return fmt.Errorf("the load generator is missing (%w): install it, on Debian by apt-get install wrk, or name it by -wrk", err)
	}
	for _, c := range httpCases {
		for round := range p.rounds {
			for _, name := range turn([]string{computed, gated, bare}, round) {
				l, err := measureHTTP(ctx, path, name, c.kept, p.over)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", c.name, name, err)
				}
				f.add(c.name, name, "requests/s", round, l.rate)
				f.add(c.name, name, "p50, us", round, micros(l.p50))
				f.add(c.name, name, "p99, us", round, micros(l.p99))
				f.add(c.name, name, "failed", round, float64(l.failed))
				say("%s, round %d, %s: %.0f requests/s, p50 %v, p99 %v, %d failed", c.name, round+1, name, l.rate, l.p50, l.p99, l.failed)
			}
		}
	}
	return nil
}

// measureHTTP serves, and lets wrk ask for so long, in whole seconds.
func measureHTTP(ctx context.Context, wrk, name string, kept bool, d time.Duration) (l wrkLoad, err error) {
	h, stop, err := httpHandler(name, kept)
	if err != nil {
		return l, err
	}
	defer stop()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return l, err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer func() {
		_ = server.Close()
		if e := <-served; !errors.Is(e, http.ErrServerClosed) {
			err = errors.Join(err, e)
		}
	}()
	seconds := max(int((d+time.Second-1)/time.Second), 1)
	cmd := exec.CommandContext(ctx, wrk, "-t1", "-c"+strconv.Itoa(httpConns), "-d"+strconv.Itoa(seconds)+"s", "--latency", "http://"+listener.Addr().String()+"/")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return l, fmt.Errorf("%s: %w", cmd, err)
	}
	return parseWrk(string(out))
}

// httpHandler returns what answers, and what ends it. Whose a request is, and for which key,
// is counted, so that all of them are different, or of how many.
func httpHandler(name string, kept bool) (h http.Handler, stop func(), err error) {
	if name == bare {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "12345678\n")
		}), func() {}, nil
	}
	cfg := compute.Config[uint64, uint64, uint64]{Limit: httpSlots}
	if kept {
		cfg.TTL = ttl
	}
	s, err := compute.New(func(_ context.Context, c compute.Call[uint64, uint64]) (uint64, error) { return 12_345_678, nil }, cfg)
	if err != nil {
		return nil, nil, err
	}
	var count atomic.Uint64
	h = firqhttp.JSON(s, func(*http.Request) (tenant, key uint64, err error) {
		n := count.Add(1)
		if kept {
			n %= httpKeys
		}
		return n % 100, n, nil
	}, firqhttp.JSONConfig{})
	if name == computed {
		return h, func() { _ = s.Close() }, nil
	}
	g := gate.New(httpSlots*4, gate.Config[string]{})
	m := firqhttp.New(g, firqhttp.Config{Tenant: firqhttp.Remote{}.Tenant})
	return m.Handler(h), func() { _ = g.Close(); _ = s.Close() }, nil
}

// wrkLoad is what wrk says.
type wrkLoad struct {
	rate     float64 // requests per second
	p50, p99 time.Duration
	failed   int64 // errors of sockets, and responses other than 2xx and 3xx
}

var (
	wrkRate   = regexp.MustCompile(`(?m)^Requests/sec:\s+([\d.]+)$`)
	wrkAt     = regexp.MustCompile(`(?m)^\s+(50|99)%\s+([\d.]+(?:us|ms|s|m))$`)
	wrkSocket = regexp.MustCompile(`(?m)^\s+Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)$`)
	wrkStatus = regexp.MustCompile(`(?m)^\s+Non-2xx or 3xx responses: (\d+)$`)
)

// parseWrk reads the output of wrk --latency.
func parseWrk(out string) (l wrkLoad, err error) {
	rate := wrkRate.FindStringSubmatch(out)
	at := wrkAt.FindAllStringSubmatch(out, -1)
	if rate == nil || len(at) != 2 {
		return l, fmt.Errorf("this is not what wrk --latency prints: %q", out)
	}
	if l.rate, err = strconv.ParseFloat(rate[1], 64); err != nil {
		return l, err
	}
	for i, d := range []*time.Duration{&l.p50, &l.p99} {
		if *d, err = time.ParseDuration(at[i][2]); err != nil {
			return l, err
		}
	}
	var failed []string
	for _, found := range [][]string{wrkSocket.FindStringSubmatch(out), wrkStatus.FindStringSubmatch(out)} {
		if found != nil {
			failed = append(failed, found[1:]...)
		}
	}
	for _, n := range failed {
		v, err := strconv.ParseInt(strings.TrimSpace(n), 10, 64)
		if err != nil {
			return l, err
		}
		l.failed += v
	}
	return l, nil
}
