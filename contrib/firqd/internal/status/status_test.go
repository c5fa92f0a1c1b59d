package status

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/contrib/firqredis"
	"github.com/firq-go/firq/queue"
	"github.com/firq-go/firq/rate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "0123456789abcdef"

// site is a page with its queue.
type site struct {
	*testing.T
	redis  *miniredis.Miniredis
	q      *Queue
	server *Server
	client http.Client
}

func newSite(t *testing.T, addr string, hosts ...string) *site {
	t.Helper()
	s := &site{T: t, redis: miniredis.RunT(t)}
	calls := &Calls{}
	db := redis.NewClient(&redis.Options{Addr: s.redis.Addr(), MaxRetries: -1, DialerRetries: 1})
	db.AddHook(calls)
	var err error
	if s.q, err = firqredis.New(t.Context(), firqredis.Config[json.RawMessage]{Client: db, Name: "mail"}); err != nil {
		t.Fatal(err)
	}
	o := Options{
		Queue: s.q, Name: "mail", Token: token, Hosts: hosts, Top: 2, Calls: calls,
	}
	if s.server, err = Start(addr, o); err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	s.client = http.Client{Transport: transport, Timeout: 20 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		for _, c := range []io.Closer{s.server, s.q, db} {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return s
}

// ask asks for a page; headers are names and values, of which Host is the host's. With a form it is a POST.
func (s *site) ask(path string, form url.Values, headers ...string) (int, http.Header, string) {
	s.Helper()
	method, body := http.MethodGet, io.Reader(nil)
	if form != nil {
		method, body = http.MethodPost, strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(s.Context(), method, s.server.URL()+path, body)
	if err != nil {
		s.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		} else {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	resp, err := s.client.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(text)
}

// signedIn returns the cookie that comes with the token.
func (s *site) signedIn() []string {
	s.Helper()
	code, h, text := s.ask("?token="+token+"&every=7", nil)
	cookie, _, _ := strings.Cut(h.Get("Set-Cookie"), ";")
	if code != http.StatusSeeOther || h.Get("Location") != "/?every=7" || !strings.HasPrefix(cookie, "firqd=") {
		s.Fatalf("%d, %v, %s", code, h, text)
	}
	if c := h.Get("Set-Cookie"); strings.Contains(c, token) || !strings.Contains(c, "HttpOnly") || !strings.Contains(c, "SameSite=Strict") {
		s.Errorf("the cookie is %s", c)
	}
	return []string{"Cookie", cookie}
}

func (s *site) enqueue(tenant, id string) {
	s.Helper()
	if _, err := s.q.Enqueue(s.Context(), queue.Task[json.RawMessage]{ID: id, Tenant: tenant, Payload: json.RawMessage(`1`)}); err != nil {
		s.Fatal(err)
	}
}

// die makes dead letters.
func (s *site) die(reason string, ids ...string) {
	s.Helper()
	for _, id := range ids {
		s.enqueue("sick", id)
		it, err := s.q.From([]string{"sick"}, nil).Dequeue(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		if err := s.q.Nack(s.Context(), it, queue.Retry{Reason: reason, Dead: true}); err != nil {
			s.Fatal(err)
		}
	}
}

func (s *site) stats() queue.Stats {
	s.Helper()
	st, err := s.q.Stats(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	return st
}

// The page shows the queue. It escapes names and payloads, and shows forms to visitors who have the token.
func TestPage(t *testing.T) {
	s := newSite(t, "127.0.0.1:0")
	for i := range 3 {
		for j := range i + 1 {
			s.enqueue(fmt.Sprintf("<b>%d", i), fmt.Sprintf("t%d-%d", i, j))
		}
	}
	s.die("<script>alert(1)</script>\nmore of it", "d<1", "d2")
	if err := s.q.Pause(t.Context(), "<b>2"); err != nil {
		t.Fatal(err)
	}
	delivered, err := s.q.Dequeue(t.Context())
	if err != nil || delivered.Tenant != "<b>0" && delivered.Tenant != "<b>1" {
		t.Fatal(delivered, err)
	}
	code, h, text := s.ask("", nil)
	for _, want := range []string{
		"<title>mail - firq</title>", `<meta name="viewport" content="width=device-width, initial-scale=1">`,
		"<dt>Queued</dt><dd>5</dd>", "<dt>In flight</dt><dd>1</dd>", "<dt>Dead letters</dt><dd>2</dd>", "<dt>Enqueued</dt><dd>8</dd>",
		`" data-label="Tenant">` + html.EscapeString(delivered.Tenant) + `</td><td data-label="Attempt">1</td><td data-label="Lease ends">` +
			delivered.LeaseUntil.UTC().Format("2006-01-02 15:04:05 UTC") + "</td>", "<dt>99 % waited at most</dt><dd>",
		`<th scope="row">&lt;b&gt;2 <strong class="badge">paused</strong></th><td data-label="Queued">3</td>`,
		"&lt;script&gt;alert(1)&lt;/script&gt;</td>", `<th scope="row">d&lt;1</th>`, "Sign in to pause", `href="/?every=5"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if code != http.StatusOK || h.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("%d, %v", code, h)
	}
	for _, never := range []string{"<script", "<b>", "style=", "<style", "onclick", "http://", "https://", `action="/p`, `action="/re`, "more of it", token} {
		if strings.Contains(text, never) {
			t.Errorf("%q is in\n%s", never, text)
		}
	}
	csp := h.Get("Content-Security-Policy")
	if !strings.HasPrefix(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") || strings.Contains(csp, "script-src") || !strings.Contains(csp, "frame-ancestors 'none'") {
		t.Errorf("policy %s", csp)
	}
	_, _, text = s.ask("?every=3", nil, s.signedIn()...)
	for _, want := range []string{
		`<meta http-equiv="refresh" content="3">`, `action="/resume"`, `action="/pause"`, `action="/requeue"`, `action="/purge"`, "Pause the queue",
		`<input type="hidden" name="id" value="d&lt;1">`, `<input type="hidden" name="tenant" value="&lt;b&gt;2">`, "Purge all 2 dead letters for good",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, token) || strings.Contains(text, "Sign in") {
		t.Errorf("the token, or a way to sign in, is in\n%s", text)
	}
	if forms, hidden := strings.Count(text, `method="post"`), strings.Count(text, `name="token"`); forms == 0 || forms != hidden {
		t.Errorf("%d forms, %d tokens", forms, hidden)
	}
	code, h, css := s.ask("style.css", nil)
	if code != http.StatusOK || h.Get("Content-Type") != "text/css; charset=utf-8" || !strings.Contains(css, "prefers-color-scheme: dark") || !strings.Contains(css, "max-width: 640px") {
		t.Errorf("style: %d, %v", code, h)
	}
	if code, _, _ := s.ask("favicon.ico", nil); code != http.StatusNotFound {
		t.Errorf("nothing there: %d", code)
	}
}

// form returns the token that forms have.
func (s *site) form() string {
	s.Helper()
	_, _, text := s.ask("", nil, s.signedIn()...)
	m := regexp.MustCompile(`name="token" value="([0-9a-f]+)"`).FindStringSubmatch(text)
	if m == nil {
		s.Fatalf("no token in\n%s", text)
	}
	return m[1]
}

func TestChanges(t *testing.T) {
	s := newSite(t, "127.0.0.1:0")
	s.enqueue("a", "1")
	s.die("no", "d1", "d2", "d3", "d4", "d5")
	form := s.form()
	post := func(want int, path string, pairs ...string) {
		t.Helper()
		v := url.Values{"token": {form}, "every": {"9"}}
		for i := 0; i < len(pairs); i += 2 {
			v.Set(pairs[i], pairs[i+1])
		}
		code, h, text := s.ask(path, v, "Sec-Fetch-Site", "same-origin", "Origin", strings.TrimSuffix(s.server.URL(), "/"))
		if code != want || code == http.StatusSeeOther && h.Get("Location") != "/?every=9" {
			t.Errorf("%s %q: %d, want %d: %v %s", path, pairs, code, want, h, text)
		}
	}
	post(http.StatusSeeOther, "pause")
	if !s.stats().Paused {
		t.Error("not paused")
	}
	post(http.StatusSeeOther, "resume")
	post(http.StatusSeeOther, "pause", "tenant", "a")
	if st, err := s.q.TenantStats(t.Context(), "a"); err != nil || !st.Paused || s.stats().Paused {
		t.Error(st, err)
	}
	post(http.StatusSeeOther, "resume", "tenant", "a")
	if st, err := s.q.TenantStats(t.Context(), "a"); err != nil || st.Paused {
		t.Error(st, err)
	}
	post(http.StatusSeeOther, "requeue", "id", "d1")
	post(http.StatusNotFound, "requeue", "id", "d1")
	post(http.StatusSeeOther, "purge", "id", "d2")
	post(http.StatusNotFound, "purge", "id", "d2")
	for _, path := range []string{"requeue", "purge"} { // nothing is not everything
		post(http.StatusBadRequest, path)
		post(http.StatusBadRequest, path, "all", "no")
		post(http.StatusBadRequest, path, "all", "yes", "id", "d3")
	}
	if st := s.stats(); st.DeadLetters != 3 || st.Requeued != 1 || st.Purged != 1 {
		t.Fatalf("%+v", st)
	}
	post(http.StatusSeeOther, "requeue", "all", "yes")
	if st := s.stats(); st.DeadLetters != 0 || st.Requeued != 4 {
		t.Errorf("%+v", st)
	}
	s.die("no", "e1", "e2")
	post(http.StatusSeeOther, "purge", "all", "yes")
	if st := s.stats(); st.DeadLetters != 0 || st.Purged != 3 {
		t.Errorf("%+v", st)
	}
	post(http.StatusBadGateway, "pause", "tenant", "{}")
}

// The page shows how long tasks have waited, as exactly as the buckets allow.
func TestWaits(t *testing.T) {
	for _, c := range []struct {
		counts []uint64
		want   []wait
	}{
		{[]uint64{0, 0, 0, 0}, nil},
		{[]uint64{1, 0, 0, 0}, []wait{{"50 %", "1ms"}, {"99 %", "1ms"}}},
		{[]uint64{50, 49, 1, 0}, []wait{{"50 %", "1ms"}, {"99 %", "2ms"}}},
		{[]uint64{49, 49, 2, 0}, []wait{{"50 %", "2ms"}, {"99 %", "4ms"}}},
		{[]uint64{0, 2, 0, 1}, []wait{{"50 %", "2ms"}, {"99 %", "over 4ms"}}},
	} {
		buckets := make([]firq.Bucket, len(c.counts))
		for i, n := range c.counts {
			buckets[i] = firq.Bucket{UpperBound: time.Millisecond << i, Count: n}
		}
		buckets[len(buckets)-1].UpperBound = math.MaxInt64
		if got := waits(buckets); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.counts, got, c.want)
		}
	}
}

// If there are many leases the page shows those that end first, and links to the others.
func TestManyLeases(t *testing.T) {
	s := newSite(t, "127.0.0.1:0")
	for i := range leasesShown + 1 {
		s.enqueue("a", fmt.Sprintf("task%d", i))
		if _, err := s.q.Dequeue(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.redis.FastForward(time.Millisecond)
	}
	_, _, text := s.ask("", nil)
	if n := strings.Count(text, `data-label="Lease ends"`); n != leasesShown || !strings.Contains(text, "20 of 21; <code>firqd in-flight</code>") {
		t.Errorf("%d leases in\n%s", n, text)
	}
}

// A tenant whose rate holds it back is seen, and for how long.
func TestHeld(t *testing.T) {
	s := newSite(t, "127.0.0.1:0")
	if err := s.q.SetTenant(t.Context(), "slow", queue.TenantSettings{Rate: rate.Limit{PerSecond: 1e-3, Burst: 1}}); err != nil {
		t.Fatal(err)
	}
	s.enqueue("slow", "a")
	s.enqueue("slow", "b")
	over, cancel := context.WithCancel(t.Context())
	cancel()
	looks := 3
	ds, err := s.q.Engine().From(nil, nil).Pop(over, func() int { looks--; return max(looks, 0) })
	if err != nil || len(ds) != 1 {
		t.Fatal(ds, err)
	}
	_, _, page := s.ask("", nil)
	if !strings.Contains(page, "held by its rate for 16m") || !strings.Contains(page, "<dt>Held by their rate</dt><dd>1</dd>") {
		t.Error(page)
	}
	if _, _, text := s.ask("metrics", nil); !strings.Contains(text, `firq_queue_held{engine="redis",queue="mail"} 1`+"\n") {
		t.Error(text)
	}
}
