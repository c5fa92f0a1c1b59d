package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/compute"
	"github.com/firq-go/firq/firqhttp"
	"github.com/firq-go/firq/gate"
)

// The refusals: connections of one tenant over loopback that come back as soon as they are refused, and quiet
// ones of other tenants.
const (
	refusedConns = 600 // of the noisy tenant
	refusedQueue = 200 // calls of a tenant that may wait
	refusedQuiet = 10  // tenants with a connection each
	refusedPause = 50 * time.Millisecond
	refusedSlots = 8
	refusedWork  = 4 * time.Millisecond
)

// The systems of the refusals.
const (
	unheld     = "compute, nothing held back"
	gateHeld   = "gate"
	gateUnheld = "gate, nothing held back"
)

var refusedSystems = []string{ours, unheld, gateHeld, gateUnheld, semaphored}

func runRefusals(ctx context.Context, p *plan, f *file, say command.Say) error {
	const what = "refusals"
	for round := range p.rounds {
		for _, name := range turn(refusedSystems, round) {
			r, err := measureRefusals(ctx, name, p.over)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			f.add(what, name, "executions/s", round, r.executed)
			f.add(what, name, "refusals/s", round, r.refused)
			f.add(what, name, "quiet p50, ms", round, r.p50)
			f.add(what, name, "quiet p99, ms", round, r.p99)
			say("refusals, round %d, %s: %.0f executions/s, %.0f refusals/s, quiet p50 %.1f ms, p99 %.1f ms", round+1, name, r.executed, r.refused, r.p50, r.p99)
		}
	}
	return nil
}

// refusals is what came of it, per second, and what the quiet tenants saw, in milliseconds.
type refusals struct{ executed, refused, p50, p99 float64 }

func measureRefusals(ctx context.Context, name string, d time.Duration) (r refusals, err error) {
	var executed, refused atomic.Int64
	h, stop, err := refusalHandler(name, func(ctx context.Context, _ key) (uint64, error) {
		executed.Add(1)
		select {
		case <-time.After(refusedWork):
			return 1, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	})
	if err != nil {
		return r, err
	}
	defer stop()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return r, err
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
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	var all sync.WaitGroup
	var keys atomic.Uint64
	for range refusedConns {
		all.Go(func() {
			_ = converse(ctx, listener.Addr().String(), 0, 0, &keys, func(status int, _ time.Duration) {
				if status != http.StatusOK {
					refused.Add(1)
				}
			})
		})
	}
	var mu sync.Mutex
	var took []float64
	for tenant := range refusedQuiet {
		all.Go(func() {
			_ = converse(ctx, listener.Addr().String(), 1+tenant, refusedPause, &keys, func(status int, d time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				if status == http.StatusOK {
					took = append(took, float64(d)/float64(time.Millisecond))
				}
			})
		})
	}
	began := time.Now()
	all.Wait()
	r.executed, r.refused = float64(executed.Load())/time.Since(began).Seconds(), float64(refused.Load())/time.Since(began).Seconds()
	if slices.Sort(took); len(took) > 0 {
		r.p50, r.p99 = took[len(took)/2], took[len(took)*99/100]
	}
	return r, nil
}

// converse asks for one key after the other over one connection until ctx ends. It reads no more of an answer than
// it has to, as it shares the processors with the server.
func converse(ctx context.Context, addr string, tenant int, pause time.Duration, keys *atomic.Uint64, answered func(status int, took time.Duration)) error {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	defer func() { _ = c.Close() }()
	in := bufio.NewReader(c)
	for ctx.Err() == nil {
		began := time.Now()
		if _, err := fmt.Fprintf(c, "GET /?%d HTTP/1.1\r\nHost: x\r\nX-Tenant: %d\r\n\r\n", keys.Add(1), tenant); err != nil {
			return err
		}
		status, err := answer(in)
		if err != nil {
			return err
		}
		answered(status, time.Since(began))
		if pause > 0 {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
		}
	}
	return nil
}

// answer reads one, and returns its status.
func answer(in *bufio.Reader) (status int, err error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if fields := bytes.Fields(line); len(fields) > 1 {
		status, err = strconv.Atoi(string(fields[1]))
	}
	length := 0
	for err == nil {
		if line, err = in.ReadSlice('\n'); err != nil || len(bytes.TrimSpace(line)) == 0 {
			break
		}
		if name, value, _ := bytes.Cut(line, []byte(":")); bytes.EqualFold(name, []byte("Content-Length")) {
			length, err = strconv.Atoi(string(bytes.TrimSpace(value)))
		}
	}
	if err == nil {
		_, err = in.Discard(length)
	}
	return status, err
}

// refusalHandler returns what answers, and what ends it.
func refusalHandler(name string, w work) (h http.Handler, stop func(), err error) {
	queue := gate.Config[string]{MaxPerTenant: refusedQueue}
	back := time.Duration(0)
	if name == unheld || name == gateUnheld {
		back = -1
	}
	ask := func(r *http.Request) (tenant, k uint64, err error) {
		if tenant, err = strconv.ParseUint(r.Header.Get("X-Tenant"), 10, 64); err != nil {
			return 0, 0, err
		}
		k, err = strconv.ParseUint(r.URL.RawQuery, 10, 64)
		return tenant, k, err
	}
	write := func(w http.ResponseWriter, v uint64, err error) {
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, strconv.FormatUint(v, 10)+"\n")
	}
	switch name {
	case ours, unheld:
		s, err := compute.New(func(ctx context.Context, c compute.Call[uint64, uint64]) (uint64, error) {
			return w(ctx, key{Tenant: c.Tenant, Key: c.Key})
		}, compute.Config[uint64, uint64, uint64]{Limit: refusedSlots, TTL: ttl, Gate: gate.Config[uint64]{MaxPerTenant: refusedQueue}})
		if err != nil {
			return nil, nil, err
		}
		return firqhttp.JSON(s, ask, firqhttp.JSONConfig{HoldBack: back}), func() { _ = s.Close() }, nil
	case gateHeld, gateUnheld:
		g := gate.New(refusedSlots, queue)
		m := firqhttp.New(g, firqhttp.Config{Tenant: firqhttp.Header("X-Tenant"), HoldBack: back})
		return m.Handler(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			v, err := w(r.Context(), key{})
			write(rw, v, err)
		})), func() { _ = g.Close() }, nil
	}
	other, err := newSemaphored(setup{slots: refusedSlots, size: 100_000, work: w})
	if err != nil {
		return nil, nil, err
	}
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		tenant, k, err := ask(r)
		if err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		v, err := other.do(r.Context(), key{Tenant: tenant, Key: k})
		write(rw, v, err)
	}), other.close, nil
}
