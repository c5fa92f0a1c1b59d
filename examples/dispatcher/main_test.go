package main

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestLimit: the service answers the noisy tenant only after all of the quiet
// one's calls. With the limit the quiet tenant has workers left, so everything is
// answered; without it, nothing would be, until the calls time out.
func TestLimit(t *testing.T) {
	l := load{workers: 8, noisy: 50, quiet: 10, timeout: 20 * time.Second}
	var quiet atomic.Int32
	all := make(chan bool)
	service := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/quiet" {
			if quiet.Add(1) == int32(l.quiet) {
				close(all)
			}
			return
		}
		select {
		case <-all:
		case <-r.Context().Done():
		}
	}))
	defer service.Close()
	table, stats, err := l.dispatch(t.Context(), service.URL, 6)
	if err != nil {
		t.Fatal(err)
	}
	if stats.Finished != uint64(l.noisy+l.quiet) || stats.Failed != 0 || stats.TimedOut != 0 {
		t.Errorf("%+v", stats)
	}
	if table.Count("noisy") != l.noisy || table.Count("quiet") != l.quiet {
		t.Errorf("called %d and %d times", table.Count("noisy"), table.Count("quiet"))
	}
}

func TestCompare(t *testing.T) {
	service := httptest.NewServer(answers(time.Millisecond))
	defer service.Close()
	var out strings.Builder
	l := load{workers: 8, noisy: 20, quiet: 2, timeout: 200 * time.Millisecond}
	if err := l.compare(t.Context(), &out, service.URL, 6); err != nil {
		t.Fatal(err)
	}
	// Two calls of each run get no answer; on a busy machine other calls may be late, too.
	timedOut := regexp.MustCompile(`22 calls, ([2-9]|1\d|2[0-2]) timed out`)
	if s := out.String(); !strings.Contains(s, "no limit") || !strings.Contains(s, "at most 6") || len(timedOut.FindAllString(s, -1)) != 2 {
		t.Error(s)
	}
}
