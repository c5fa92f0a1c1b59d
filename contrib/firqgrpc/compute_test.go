package firqgrpc_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/compute"
	"github.com/firq-go/firq/contrib/firqgrpc"
	"github.com/firq-go/firq/gate"
)

// TestRejectError: a handler's refusals reach the client as those of the interceptor do.
func TestRejectError(t *testing.T) {
	s := &service{}
	conn := serve(t, s, gate.New(1, gate.Config[string]{}), firqgrpc.Config{})
	for _, c := range []struct {
		err    error
		code   codes.Code
		reason firqgrpc.Reason // in ErrorInfo; empty: there are no details
	}{
		{firq.ErrTenantFull, codes.ResourceExhausted, firqgrpc.TenantFull},
		{gate.ErrEvicted, codes.ResourceExhausted, firqgrpc.Evicted},
		{compute.ErrTooManyWaiters, codes.ResourceExhausted, firqgrpc.TooManyWaiters},
		{fmt.Errorf("page: %w", compute.ErrTooManyWaiters), codes.ResourceExhausted, firqgrpc.TooManyWaiters},
		{firq.ErrGlobalFull, codes.Unavailable, firqgrpc.GlobalFull},
		{fmt.Errorf("mine: %w", firq.ErrRejected), codes.Unavailable, firqgrpc.GlobalFull},
		{firq.ErrTimeout, codes.Unavailable, firqgrpc.Timeout},
		{firq.ErrClosed, codes.Unavailable, firqgrpc.Closed},
		{context.DeadlineExceeded, codes.DeadlineExceeded, ""},
		{context.Canceled, codes.Canceled, ""},
	} {
		s.do = func(ctx context.Context, _ string) (string, error) { return "", firqgrpc.RejectError(ctx, c.err) }
		var trailer metadata.MD
		_, err := call(as("a"), conn, "say", grpc.Trailer(&trailer))
		st := status.Convert(err)
		if st.Code() != c.code {
			t.Errorf("%v: %v", c.err, err)
		}
		var reason, domain string
		var delay time.Duration
		for _, d := range st.Details() {
			switch d := d.(type) {
			case *errdetails.ErrorInfo:
				reason, domain = d.Reason, d.Domain
			case *errdetails.RetryInfo:
				delay = d.RetryDelay.AsDuration()
			}
		}
		if reason != string(c.reason) || (domain == firqgrpc.DefaultDomain) != (c.reason != "") {
			t.Errorf("%v: reason %q of %q", c.err, reason, domain)
		}
		again := c.reason != "" && c.reason != firqgrpc.Closed
		if (delay >= time.Second && delay <= 1500*time.Millisecond) != again || !again && delay != 0 {
			t.Errorf("%v: come back after %v", c.err, delay)
		}
		var want []string
		if again {
			want = []string{fmt.Sprint(delay.Milliseconds())}
		}
		if got := trailer.Get("grpc-retry-pushback-ms"); !reflect.DeepEqual(got, want) {
			t.Errorf("%v: trailer %v, want %v", c.err, got, want)
		}
	}
	for _, err := range []error{nil, errors.New("mine"), firq.ErrInvalidTask, &compute.PanicError{Value: context.Canceled}, &compute.PanicError{}} {
		if st := firqgrpc.RejectError(context.Background(), err); st != nil {
			t.Errorf("%v: %v", err, st)
		}
	}
	if st := firqgrpc.RejectError(context.Background(), firq.ErrTenantFull); status.Code(st) != codes.ResourceExhausted {
		t.Errorf("outside a handler: %v", st)
	}
}

// TestCacheStatus: what the metadata say of each source.
func TestCacheStatus(t *testing.T) {
	for _, c := range []struct {
		info compute.Info
		want metadata.MD
	}{
		{compute.Info{Source: compute.Hit, Age: 2999 * time.Millisecond}, metadata.Pairs("cache-status", "pages; hit", "age", "2")},
		{compute.Info{Source: compute.Stale, Age: time.Hour, Err: firq.ErrTimeout}, metadata.Pairs("cache-status", "pages; hit; detail=stale", "age", "3600")},
		{compute.Info{Source: compute.Coalesced, Wait: time.Hour}, metadata.Pairs("cache-status", "pages; fwd=miss; collapsed")},
		{compute.Info{Source: compute.Executed}, metadata.Pairs("cache-status", "pages; fwd=miss")},
		{compute.Info{}, nil},
	} {
		if got := firqgrpc.CacheStatus("pages", c.info); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v: %v, want %v", c.info, got, c.want)
		}
	}
}

// TestDo: a handler over Do tells where its response comes from, and refuses as the interceptor does.
func TestDo(t *testing.T) {
	broken := status.Error(codes.DataLoss, "broken")
	made := 0
	cached, err := compute.New(func(_ context.Context, c compute.Call[string, string]) (string, error) {
		switch made++; c.Key {
		case "broken":
			return "", broken
		case "full":
			return "", firq.ErrTenantFull
		}
		return "result of " + c.Key, nil
	}, compute.Config[string, string, string]{TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cached.Close() }()
	s := &service{do: func(ctx context.Context, say string) (string, error) {
		return firqgrpc.Do(ctx, cached, "pages", "a", say)
	}}
	conn := serve(t, s, gate.New(1, gate.Config[string]{}), firqgrpc.Config{})
	for _, c := range []struct {
		key, want, header string
		code              codes.Code
	}{
		{"x", "result of x", "pages; fwd=miss", codes.OK},
		{"x", "result of x", "pages; hit", codes.OK},
		{"broken", "", "pages; fwd=miss", codes.DataLoss},
		{"full", "", "pages; fwd=miss", codes.ResourceExhausted},
	} {
		var header metadata.MD
		got, err := call(as("a"), conn, c.key, grpc.Header(&header))
		if got != c.want || status.Code(err) != c.code || !reflect.DeepEqual(header.Get("cache-status"), []string{c.header}) {
			t.Errorf("%s: %q, %v, %v", c.key, got, err, header)
		}
	}
	if made != 3 {
		t.Errorf("made %d times, want 3", made)
	}
	_ = cached.Close()
	var header metadata.MD
	if _, err := call(as("a"), conn, "x", grpc.Header(&header)); status.Code(err) != codes.Unavailable || header.Get("cache-status") != nil {
		t.Errorf("closed: %v, %v", err, header)
	}
	if _, err := firqgrpc.Do(nil, cached, "pages", "a", "x"); !errors.Is(err, firq.ErrInvalidArgument) { //nolint:staticcheck // on purpose
		t.Errorf("nil: %v", err)
	}
	if v, err := firqgrpc.Do(t.Context(), cached, "pages", "a", "x"); v != "" || status.Code(err) != codes.Unavailable {
		t.Errorf("outside a handler: %q, %v", v, err)
	}
}
