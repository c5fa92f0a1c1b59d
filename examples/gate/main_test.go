package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCompare(t *testing.T) {
	var out strings.Builder
	l := load{searches: 2, reports: 1, queue: 5, conns: 20, calls: 3, work: time.Millisecond}
	if err := l.compare(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"A semaphore per route", "A gate per route", "noisy /search", "quiet /report", "quiet 0\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing:\n%s", want, out.String())
		}
	}
}

// TestTurns: the only slot is taken and five calls of the noisy tenant wait when the quiet
// tenant's call comes. With fairness it is served second, otherwise last. A sixth is refused.
func TestTurns(t *testing.T) {
	for _, fair := range []bool{false, true} {
		order := make(chan string, 10)
		begun, goOn := make(chan bool), make(chan bool)
		rt, err := newRoute(1, 6, fair, func(context.Context) error {
			begun <- true
			<-goOn
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		var calls sync.WaitGroup
		call := func(tenant string) int {
			req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
			req.Header.Set("Tenant", tenant)
			rec := httptest.NewRecorder()
			rt.ServeHTTP(rec, req)
			return rec.Code
		}
		background := func(tenant string, waiting int) {
			calls.Go(func() {
				if code := call(tenant); code != http.StatusOK {
					t.Errorf("%s: %d", tenant, code)
				}
				order <- tenant
			})
			// Waiting counts a call a moment before the call has its place in the queue.
			queued := func() bool { return rt.gate.Waiting() == waiting && rt.gate.Stats().Queue.QueueLen == waiting }
			for end := time.Now().Add(10 * time.Second); !queued(); time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("%d wait, want %d", rt.gate.Waiting(), waiting)
				}
			}
		}
		background("noisy", 0)
		<-begun
		for i := range 5 {
			background("noisy", i+1)
		}
		background("quiet", 6)
		if fair {
			background("noisy", 7)
			if code := call("noisy"); code != http.StatusTooManyRequests {
				t.Errorf("one too many: %d", code)
			}
		} else if code := call("quiet"); code != http.StatusTooManyRequests {
			t.Errorf("one too many: %d", code) // all tenants pay for the noise
		}
		place := 0
		for i := range 7 {
			goOn <- true
			if <-order == "quiet" {
				place = i
			}
			if i < 6 || fair {
				<-begun
			}
		}
		if fair {
			goOn <- true
		}
		calls.Wait()
		if fair && place > 2 || !fair && place != 6 {
			t.Errorf("fair %v: the quiet call was served as number %d", fair, place)
		}
	}
}
