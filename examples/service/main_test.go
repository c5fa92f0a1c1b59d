package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// begin serves until stop is called, which returns what serve did.
func begin(t *testing.T, c config) (url string, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	c.addr = "127.0.0.1:0"
	ready, end := make(chan net.Addr, 1), make(chan error, 1)
	go func() { end <- serve(ctx, c, func(a net.Addr) { ready <- a }) }()
	select {
	case a := <-ready:
		return "http://" + a.String(), func() error { cancel(); return <-end }
	case err := <-end:
		t.Fatal(err)
		return "", nil
	}
}

func get(t *testing.T, client *http.Client, url, tenant string) (int, string) {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	req.Header.Set("Tenant", tenant)
	resp, err := client.Do(req)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close() // it was read
	if err != nil {
		t.Error(err)
	}
	return resp.StatusCode, string(body)
}

// await polls the metrics until one has the value.
func await(t *testing.T, client *http.Client, url, metric string, value int) {
	t.Helper()
	want := fmt.Sprintf("%s %d\n", metric, value)
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		_, body := get(t, client, url+"/metrics", "")
		if strings.Contains(body, want) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("want %s in:\n%s", want, body)
		}
	}
}

// TestServe: calls are let in, wait, are refused and counted, with firq and
// without; and an interrupt lets those that were let in finish.
func TestServe(t *testing.T) {
	for fair, refusal := range map[bool]int{true: http.StatusTooManyRequests, false: http.StatusServiceUnavailable} {
		t.Run(fmt.Sprint("fair=", fair), func(t *testing.T) {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			url, stop := begin(t, config{slots: 1, queue: 2, fair: fair, grace: 20 * time.Second})
			for _, bad := range []string{"", "?ms=-1", "?ms=x", "?ms=10001"} {
				if code, _ := get(t, client, url+"/render"+bad, "a"); code != http.StatusBadRequest {
					t.Errorf("%q: %d", bad, code)
				}
			}
			if code, body := get(t, client, url+"/render?ms=1", "a"); code != http.StatusOK || body != "rendered\n" {
				t.Errorf("%d %q", code, body)
			}
			long, hangUp := context.WithCancel(t.Context())
			defer hangUp()
			var calls sync.WaitGroup
			calls.Go(func() { // runs until it hangs up
				req, err := http.NewRequestWithContext(long, http.MethodGet, url+"/render?ms=10000", nil)
				if err != nil {
					t.Error(err)
					return
				}
				if resp, err := client.Do(req); err == nil {
					t.Errorf("%s", resp.Status)
					_ = resp.Body.Close() // the test has failed
				}
			})
			await(t, client, url, `service_calls{state="running"}`, 1)
			// Two can wait for the slot. Which of the three calls is one too many is not
			// determined: a call that is about to wait counts as waiting already.
			codes := make(chan int, 3)
			for range 3 {
				calls.Go(func() {
					code, _ := get(t, client, url+"/render?ms=100", "a")
					codes <- code
				})
			}
			await(t, client, url, `service_calls_total{outcome="refused"}`, 1)
			await(t, client, url, `service_calls{state="waiting"}`, 2)
			hangUp()
			await(t, client, url, `service_calls_total{outcome="admitted"}`, 8) // all that were not refused
			if err := stop(); err != nil {
				t.Error(err)
			}
			calls.Wait()
			got := []int{<-codes, <-codes, <-codes}
			slices.Sort(got)
			if want := []int{http.StatusOK, http.StatusOK, refusal}; !slices.Equal(got, want) {
				t.Errorf("codes %d, want %d", got, want)
			}
		})
	}
}

// TestMetricsFormat: every line is a comment or a sample.
func TestMetricsFormat(t *testing.T) {
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	url, stop := begin(t, config{slots: 1, queue: 1, fair: true, grace: time.Second})
	get(t, client, url+"/render?ms=1", "a")
	_, body := get(t, client, url+"/metrics", "")
	line := regexp.MustCompile(`^(# (HELP|TYPE) .+|[a-z_]+(\{[a-z]+="[a-z0-9.]+"\})? [0-9.e+-]+)$`)
	for text := range strings.Lines(body) {
		if !line.MatchString(strings.TrimSuffix(text, "\n")) {
			t.Errorf("%q", text)
		}
	}
	if !strings.Contains(body, "service_wait_seconds_count 1\n") {
		t.Error(body)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestServeFails(t *testing.T) {
	for _, c := range []config{{slots: 0, queue: 1}, {slots: 1, queue: 0}, {slots: 1, queue: 1, addr: "127.0.0.1:-1"}} {
		if err := serve(t.Context(), c, func(net.Addr) {}); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
}

// TestScript runs the script with a small load.
func TestScript(t *testing.T) {
	if testing.Short() {
		t.Skip("builds two programs")
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "bash", "noisy-neighbour", "--conns", "10", "--calls", "3", "--heavy", "2").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"Without firq", "With firq", "quiet", "of 3 calls"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is missing:\n%s", want, out)
		}
	}
}
