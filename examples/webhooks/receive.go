package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// The signature is that of the Standard Webhooks specification, version 1
// (https://www.standardwebhooks.com): HMAC-SHA256 of id, time and body.

// sign adds the three headers.
func sign(h http.Header, secret []byte, id string, body []byte) {
	at := strconv.FormatInt(time.Now().Unix(), 10)
	h.Set("Webhook-Id", id)
	h.Set("Webhook-Timestamp", at)
	h.Set("Webhook-Signature", "v1,"+signature(secret, id, at, body))
}

func signature(secret []byte, id, at string, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	for _, part := range [][]byte{[]byte(id), []byte("."), []byte(at), []byte("."), body} {
		mac.Write(part)
	}
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// tolerance is how old a signed event may be: an older one may be a replay.
const tolerance = 5 * time.Minute

// genuine reports whether the request was signed with secret, and recently.
func genuine(h http.Header, secret, body []byte) bool {
	at, err := strconv.ParseInt(h.Get("Webhook-Timestamp"), 10, 64)
	if err != nil || time.Since(time.Unix(at, 0)).Abs() > tolerance {
		return false
	}
	want := "v1," + signature(secret, h.Get("Webhook-Id"), h.Get("Webhook-Timestamp"), body)
	return hmac.Equal([]byte(want), []byte(h.Get("Webhook-Signature")))
}

// receiver is a merchant's end: it takes its time, and some requests fail at regular intervals.
type receiver struct {
	secret []byte
	slow   time.Duration
	fails  int // one in this many requests; 0: none

	mu    sync.Mutex
	calls int
	ids   map[string]bool // accepted; an event may come twice
}

func newReceiver(secret []byte, slow time.Duration, fails int) *receiver {
	return &receiver{secret: secret, slow: slow, fails: fails, ids: map[string]bool{}}
}

func (rc *receiver) accepted() int {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	return len(rc.ids)
}

func (rc *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil || !genuine(r.Header, rc.secret, body) {
		http.Error(w, "bad signature", http.StatusUnauthorized)
		return
	}
	time.Sleep(rc.slow)
	rc.mu.Lock()
	defer rc.mu.Unlock()
	rc.calls++
	if rc.fails > 0 && rc.calls%rc.fails == 0 {
		http.Error(w, "try later", http.StatusServiceUnavailable)
		return
	}
	rc.ids[r.Header.Get("Webhook-Id")] = true
}
