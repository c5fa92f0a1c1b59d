package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var small = load{
	merchants: 3, flood: 60, few: 2, workers: 4, inFlight: 2,
	tries: 20, backoff: time.Millisecond, timeout: 20 * time.Second, slow: time.Millisecond,
}

// TestPlay: with enough tries everything is delivered, whatever fails before.
func TestPlay(t *testing.T) {
	var out strings.Builder
	if err := small.compare(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	if s := out.String(); strings.Count(s, "66 events: 66 delivered, 0 given up") != 2 || strings.Contains(s, "66 tries") {
		t.Error(s)
	}
}

// TestNoisyReceiverIsDown: the noisy merchant's receiver answers only when all quiet
// merchants have got their events. With a limit in flight, they get them immediately.
func TestNoisyReceiverIsDown(t *testing.T) {
	secret := []byte("s")
	quiet := newReceiver(secret, 0, 0)
	all := make(chan bool)
	q := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		quiet.ServeHTTP(w, r)
		if quiet.accepted() == 5 {
			close(all)
		}
	}))
	n := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-all:
		case <-r.Context().Done():
		}
	}))
	defer q.Close()
	defer n.Close()
	l := small
	l.tries = 1
	d, err := newDispatcher(l, true, secret)
	if err != nil {
		t.Fatal(err)
	}
	run := make(chan error, 1)
	go func() { run <- d.run(t.Context()) }()
	for range 20 {
		d.send(event{merchant: "noisy", kind: "noisy", url: n.URL})
	}
	for i := range 5 {
		d.send(event{merchant: "quiet", kind: "quiet", url: q.URL, id: string(rune('a' + i))})
	}
	if err := d.drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-run; err != nil {
		t.Fatal(err)
	}
	if s := d.summary(); s != (summary{events: 25, delivered: 25, tries: 25}) {
		t.Errorf("%+v", s)
	}
}

// TestGivesUp: a receiver that never accepts.
func TestGivesUp(t *testing.T) {
	down := newReceiver([]byte("another secret"), 0, 0)
	server := httptest.NewServer(down)
	defer server.Close()
	l := small
	l.tries = 3
	d, err := newDispatcher(l, true, []byte("s"))
	if err != nil {
		t.Fatal(err)
	}
	run := make(chan error, 1)
	go func() { run <- d.run(t.Context()) }()
	for range 4 {
		d.send(event{merchant: "m", kind: "m", url: server.URL})
	}
	if err := d.drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-run; err != nil {
		t.Fatal(err)
	}
	if s := d.summary(); s != (summary{events: 4, givenUp: 4, tries: 12}) || down.accepted() != 0 {
		t.Errorf("%+v, %d accepted", s, down.accepted())
	}
}

func TestSignature(t *testing.T) {
	secret, body := []byte("secret"), []byte("{}")
	signed := func(change func(http.Header)) http.Header {
		h := http.Header{}
		sign(h, secret, "evt_1", body)
		change(h)
		return h
	}
	if !genuine(signed(func(http.Header) {}), secret, body) {
		t.Error("refused")
	}
	for name, h := range map[string]http.Header{
		"another id":   signed(func(h http.Header) { h.Set("Webhook-Id", "evt_2") }),
		"another time": signed(func(h http.Header) { h.Set("Webhook-Timestamp", "1") }),
		"none":         signed(func(h http.Header) { h.Del("Webhook-Signature") }),
	} {
		if genuine(h, secret, body) {
			t.Errorf("%s: accepted", name)
		}
	}
	old := http.Header{}
	old.Set("Webhook-Id", "evt_1")
	old.Set("Webhook-Timestamp", "1000000000")
	old.Set("Webhook-Signature", "v1,"+signature(secret, "evt_1", "1000000000", body))
	if genuine(old, secret, body) {
		t.Error("an old one: accepted")
	}
	if genuine(signed(func(http.Header) {}), secret, []byte("{ }")) || genuine(signed(func(http.Header) {}), []byte("x"), body) {
		t.Error("another body or secret: accepted")
	}
}
