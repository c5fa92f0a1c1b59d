package firqhttp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/compute"
	"github.com/firq-go/firq/gate"
)

func TestRejectError(t *testing.T) {
	for _, tc := range []struct {
		err    error
		status int
		reason Reason
	}{
		{firq.ErrTenantFull, 429, TenantFull},
		{gate.ErrEvicted, 429, Evicted},
		{compute.ErrTooManyWaiters, 429, TooManyWaiters},
		{fmt.Errorf("page: %w", compute.ErrTooManyWaiters), 429, TooManyWaiters},
		{firq.ErrGlobalFull, 503, GlobalFull},
		{fmt.Errorf("mine: %w", firq.ErrRejected), 503, GlobalFull},
		{firq.ErrTimeout, 503, Timeout},
		{context.DeadlineExceeded, 503, Timeout},
		{context.Canceled, 503, Cancelled},
		{firq.ErrClosed, 503, Closed},
	} {
		w := httptest.NewRecorder()
		if !RejectError(w, httptest.NewRequest(http.MethodGet, "/", nil), tc.err) {
			t.Errorf("%v: not answered", tc.err)
			continue
		}
		var p struct {
			Status         int
			Reason, Detail string
		}
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		if w.Code != tc.status || p.Status != tc.status || Reason(p.Reason) != tc.reason || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%v: %d, %+v, %v", tc.err, w.Code, p, w.Header())
		}
		if after := w.Header().Get("Retry-After"); (after == "1" || after == "2") != (tc.reason != Closed) {
			t.Errorf("%v: Retry-After %q", tc.err, after)
		}
		if p.Detail == "" && tc.reason == TooManyWaiters {
			t.Errorf("%v: detail %q", tc.err, p.Detail)
		}
	}
	for _, err := range []error{nil, errors.New("mine"), firq.ErrInvalidTask, &compute.PanicError{Value: context.Canceled}, &compute.PanicError{}} {
		w := httptest.NewRecorder()
		if RejectError(w, httptest.NewRequest(http.MethodGet, "/", nil), err) || w.Body.Len() > 0 || len(w.Header()) > 0 {
			t.Errorf("%v: answered with %d, %v", err, w.Code, w.Header())
		}
	}
}

func TestCacheStatus(t *testing.T) {
	for _, tc := range []struct {
		info      compute.Info
		want, age string
	}{
		{compute.Info{Source: compute.Hit, Age: 2999 * time.Millisecond}, "pages; hit", "2"},
		{compute.Info{Source: compute.Stale, Age: time.Hour, Err: firq.ErrTimeout}, "pages; hit; detail=stale", "3600"},
		{compute.Info{Source: compute.Coalesced, Wait: time.Hour}, "pages; fwd=miss; collapsed", ""},
		{compute.Info{Source: compute.Executed}, "pages; fwd=miss", ""},
		{compute.Info{}, "", ""},
	} {
		h := http.Header{}
		CacheStatus(h, "pages", tc.info)
		if h.Get("Cache-Status") != tc.want || h.Get("Age") != tc.age {
			t.Errorf("%+v: %v", tc.info, h)
		}
	}
	for name, want := range map[string]string{
		"a/b:8": "a/b:8", "8a": `"8a"`, "": `""`, `two "words"`: `"two \"words\""`, "ü\n": `"??"`,
	} {
		h := http.Header{"Cache-Status": {"before"}}
		CacheStatus(h, name, compute.Info{Source: compute.Hit})
		if got := strings.Join(h["Cache-Status"], ", "); got != "before, "+want+"; hit" {
			t.Errorf("%q: %s", name, got)
		}
	}
}
