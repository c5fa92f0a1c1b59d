package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPlay(t *testing.T) {
	var out strings.Builder
	l := limits{users: 20, requests: 2000, burst: 5, rate: 1, idle: 20 * time.Millisecond}
	if err := l.play(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "0 a while later") {
		t.Error(out.String())
	}
}

// A user gets the burst, then a request per 100 ms. Another user is not affected, and a user without a request for a second is forgotten.
func TestAllow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := limits{burst: 3, rate: 10, idle: time.Second}.limiter()
		if err != nil {
			t.Fatal(err)
		}
		sys := l.sys
		defer func() { _ = sys.Close() }()
		ask := func(user string) (yes bool) {
			t.Helper()
			yes, err := l.allow(context.Background(), user)
			if err != nil {
				t.Fatal(err)
			}
			return yes
		}
		for i, want := range []bool{true, true, true, false, false} {
			if got := ask("a"); got != want {
				t.Errorf("request %d: %t", i, got)
			}
		}
		if !ask("b") {
			t.Error("b pays for a")
		}
		time.Sleep(100 * time.Millisecond)
		if !ask("a") || ask("a") {
			t.Error("a does not get one request after 100 ms")
		}
		if n := sys.Stats().Actors; n != 2 {
			t.Errorf("%d actors", n)
		}
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		if n := sys.Stats().Actors; n != 0 {
			t.Errorf("%d actors after a quiet while", n)
		}
		if !ask("a") {
			t.Error("a is not known, and refused")
		}
	})
}

// The page shows the users that are there, and names cannot break out of it.
func TestPage(t *testing.T) {
	l, err := limits{burst: 1, rate: 1e-9, idle: time.Minute}.limiter()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.sys.Close() }()
	server := httptest.NewServer(l.handler())
	defer server.Close()
	get := func(path string, status int) string {
		t.Helper()
		r, err := server.Client().Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Body.Close() }()
		body, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != status {
			t.Error(path, r.Status, err)
		}
		return string(body)
	}
	get("/allow?user=%3Cb%3E", http.StatusOK)
	get("/allow?user=%3Cb%3E", http.StatusTooManyRequests)
	if text := get("/", http.StatusOK); !strings.Contains(text, "<td>user/&lt;b&gt;<td>*main.bucket<td>alive<td>0") {
		t.Error(text)
	}
}
