package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The program serves metrics that move, until its context is done.
func TestRun(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	reader, writer := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, []string{"-addr", "127.0.0.1:0", "-rate", "2000", "-service", "1ms", "-for", "1m"}, writer)
		_ = writer.Close()
	}()
	line, err := bufio.NewReader(reader).ReadString('\n')
	if err != nil {
		t.Fatal(err, <-done)
	}
	url, _, _ := strings.Cut(line, " ")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v", response.Status, err)
		}
		moved := strings.Contains(string(text), `tenant="tenant-0"`)
		for _, series := range []string{ // of each part
			`firq_dequeued_total{scheduler="example"}`,
			`firq_pool_finished_total{pool="workers",scheduler="example"}`,
			`firq_gate_in_use{scheduler="web"}`,
			`firq_requests_served_total{protocol="http",scheduler="web"}`,
			`firq_requests_skipped_total{protocol="http",scheduler="web"}`,
			`firq_requests_rejected_total{protocol="http",reason="tenant_full",scheduler="web"}`,
			`firq_watchdog_running`,
		} {
			moved = moved && value(string(text), series) > 0
		}
		if moved {
			break
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("run: %v", err)
	}
}

// value returns the number of a series, -1 without it.
func value(text, series string) float64 {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, series+" "); ok {
			var v float64
			if _, err := fmt.Sscan(rest, &v); err == nil {
				return v
			}
		}
	}
	return -1
}

func TestRunIsBounded(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	if err := run(ctx, []string{"-addr", "127.0.0.1:0", "-for", "1ms"}, io.Discard); err != nil || ctx.Err() != nil {
		t.Errorf("run: %v, %v", err, ctx.Err())
	}
}

func TestRunErrors(t *testing.T) {
	for want, args := range map[string][]string{
		"-for":            {"-for", "0"},
		"-rate":           {"-rate", "NaN"},
		"-workers":        {"-workers", "0"},
		"-tenants":        {"-tenants", "-1"},
		"-service":        {"-service", "-1s"},
		"listen":          {"-addr", "256.0.0.1:1"},
		"not defined: -x": {"-x"},
	} {
		if err := run(t.Context(), args, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want an error about %s", args, err, want)
		}
	}
	if err := run(t.Context(), []string{"-h"}, io.Discard); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: %v", err)
	}
}
