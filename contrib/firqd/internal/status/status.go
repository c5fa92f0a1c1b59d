// Package status shows a queue to browsers and to Prometheus: / is a page, /metrics has metrics in the text
// format, and /healthz says whether the server can be reached.
//
// The pages need no script and load nothing. What they show depends on the queue only; what they change needs
// the token and comes from the same origin.
package status

import (
	"bytes"
	"context"
	_ "embed" // page.html, style.css
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/queue"
)

// Queue is a queue of JSON.
type Queue = queue.Queue[json.RawMessage]

// Options say what is shown.
type Options struct {
	Queue *Queue
	Name  string   // of the queue
	Token string   // a visitor who has it may pause, requeue and purge
	Hosts []string // names that the pages may be asked by besides those of the loopback interface
	Top   int      // how many tenants are named

	// Calls times the client's calls. nil: there is no such metric.
	Calls *Calls
}

// pages is the handler.
type pages struct {
	Options
	exposed bool
	secrets secrets
}

// The page lists at most this many dead letters, and leases.
const deadShown, leasesShown = 20, 20

// patience is how long the server has to answer a request.
const patience = 10 * time.Second

func newPages(o Options, exposed bool) http.Handler {
	p := &pages{o, exposed, secretsOf(o.Token)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.page(p.overview))
	mux.HandleFunc("GET /tasks", p.page(p.tasks))
	mux.HandleFunc("GET /task", p.page(p.task))
	mux.HandleFunc("GET /style.css", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		_, _ = io.WriteString(w, style) // the browser has gone: an error cannot be reported
	})
	mux.HandleFunc("GET /healthz", p.health)
	mux.HandleFunc("GET /metrics", p.metrics)
	mux.HandleFunc("POST /sign-in", p.signIn)
	for name, do := range map[string]func(ctx context.Context, form url.Values) error{
		"pause":   func(ctx context.Context, f url.Values) error { return o.Queue.Pause(ctx, f.Get("tenant")) },
		"resume":  func(ctx context.Context, f url.Values) error { return o.Queue.Resume(ctx, f.Get("tenant")) },
		"requeue": p.requeue,
		"purge":   p.purge,
		"cancel":  func(ctx context.Context, f url.Values) error { return o.Queue.Cancel(ctx, f.Get("id")) },
		"forget":  func(ctx context.Context, f url.Values) error { return o.Queue.Forget(ctx, f.Get("id")) },
	} {
		mux.HandleFunc("POST /"+name, p.change(do))
	}
	return guard(exposed, o.Hosts, mux)
}

//go:embed page.html
var source string

//go:embed style.css
var style string

var tmpl = template.Must(template.New("page").Funcs(template.FuncMap{
	"short": short,
	"when":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
	"text":  text,
	"line":  func(text string) string { first, _, _ := strings.Cut(text, "\n"); return cut(first, 200) },
}).Parse(source + tasksSource))

// cut shortens a text to about n bytes.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + " ..."
}

// short returns a duration with the digits that matter.
func short(d time.Duration) string {
	switch {
	case d >= time.Hour:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	case d >= 10*time.Second:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(time.Millisecond).String()
}

// content holds the data of the page.
type content struct {
	Name          string
	At            time.Time
	Every         int // reload after this many seconds; 0: not
	Stats         queue.Stats
	Tenants, Busy []queue.TenantStats
	Leases        []*queue.Item[json.RawMessage] // those that end first
	Waits         []wait
	Dead          []queue.DeadLetter[json.RawMessage]
	Form          string // token of the forms; "": no forms
	Top           int    // how many tenants are named
	Error         string

	// Of the pages of tasks.
	State queue.State // which are listed, or that of the task
	Of    string      // the tenant that is chosen
	List  []*task
	Next  string // cursor of the next page
	Task  *task
}

// wait is how long a share of the tasks has waited at most, as a text.
type wait struct{ Share, Most string }

// waits returns how long half of all tasks and 99 of 100 have waited at most, as exactly as the buckets tell.
func waits(buckets []firq.Bucket) (ws []wait) {
	var all uint64
	for _, b := range buckets {
		all += b.Count
	}
	if all == 0 {
		return nil
	}
	for _, percent := range []uint64{50, 99} {
		w := wait{Share: strconv.FormatUint(percent, 10) + " %"}
		sum := uint64(0)
		for i, b := range buckets {
			if sum += b.Count; sum < all-all*(100-percent)/100 {
				continue
			}
			if w.Most = short(b.UpperBound); b.UpperBound == math.MaxInt64 {
				w.Most = "over " + short(buckets[i-1].UpperBound)
			}
			break
		}
		ws = append(ws, w)
	}
	return ws
}

// page makes a handler of what fills in a page, and names it.
func (p *pages) page(fill func(ctx context.Context, c *content, q url.Values) (name string, err error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { p.show(w, r, fill) }
}

func (p *pages) show(w http.ResponseWriter, r *http.Request, fill func(ctx context.Context, c *content, q url.Values) (name string, err error)) {
	if token := r.URL.Query().Get("token"); token != "" { // the address that is printed at the start
		p.enter(w, r, token)
		return
	}
	c := content{Name: p.Name, At: time.Now(), Every: every(r.URL.Query()), Top: p.Top}
	signed := p.secrets.sees(r)
	if signed {
		c.Form = p.secrets.form
	}
	code := http.StatusOK
	if p.exposed && !signed {
		render(w, http.StatusUnauthorized, "sign-in-page", &c)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	name, err := fill(ctx, &c, r.URL.Query())
	if err != nil {
		c.Error, code = err.Error(), codeOf(err)
	}
	render(w, code, name, &c)
}

// every reads after how many seconds the page is to reload itself.
func every(q url.Values) int {
	n, err := strconv.Atoi(q.Get("every"))
	if err != nil || n < 1 || n > 3600 {
		return 0
	}
	return n
}

func render(w http.ResponseWriter, code int, name string, c *content) {
	var b bytes.Buffer
	if err := tmpl.ExecuteTemplate(&b, name, c); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = b.WriteTo(w) // the browser has gone: an error cannot be reported
}

func (p *pages) overview(ctx context.Context, c *content, _ url.Values) (string, error) {
	return "page", p.fill(ctx, c)
}

func (p *pages) fill(ctx context.Context, c *content) (err error) {
	// A visitor who reloads the page does not have all tenants looked at each time.
	stats, tops, err := p.Queue.Survey().Overview(ctx, max(p.Top, 1), queue.ByQueued, queue.ByInFlight)
	if err != nil {
		return err
	}
	c.Stats = stats
	if p.Top > 0 {
		c.Tenants = tops[0]
		for _, t := range tops[1] {
			if t.InFlight > 0 {
				c.Busy = append(c.Busy, t)
			}
		}
		for it, err := range p.Queue.InFlight(ctx, "") {
			if err != nil {
				return err
			}
			if c.Leases = append(c.Leases, it); len(c.Leases) == leasesShown {
				break
			}
		}
	}
	times, _, err := p.Queue.QueueTimes(ctx)
	if err != nil {
		return err
	}
	c.Waits = waits(times)
	for d, err := range p.Queue.DeadLetters(ctx, queue.Filter{Limit: deadShown}) {
		if err != nil {
			return err
		}
		c.Dead = append(c.Dead, d)
	}
	return nil
}

// signIn takes the token from a form.
func (p *pages) signIn(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	p.enter(w, r, r.PostFormValue("token"))
}

// enter gives a visitor who has the token the cookie, and takes the token out of the address.
func (p *pages) enter(w http.ResponseWriter, r *http.Request, token string) {
	if !same(token, p.secrets.token) {
		http.Error(w, "the token is wrong; firqd serve has printed it when it started", http.StatusForbidden)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: p.secrets.cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	back(w, r, r.URL.Query())
}

// back sends the browser to the page.
func back(w http.ResponseWriter, r *http.Request, q url.Values) {
	to := "/"
	if n := every(q); n > 0 {
		to = fmt.Sprintf("/?every=%d", n)
	}
	if state := q.Get("state"); state != "" { // it comes from the list
		to = "/tasks?" + url.Values{"state": {state}, "tenant": {q.Get("of")}}.Encode()
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// change makes a handler of what changes the queue.
func (p *pages) change(do func(ctx context.Context, form url.Values) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
		if err := r.ParseForm(); err != nil {
			http.Error(w, "the form cannot be read", http.StatusBadRequest)
			return
		}
		if !p.secrets.changes(r) {
			http.Error(w, "the token is missing or wrong: open the address that firqd serve has printed when it started", http.StatusForbidden)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		switch err := do(ctx, r.PostForm); {
		case err == nil:
			back(w, r, r.PostForm)
		case errors.Is(err, queue.ErrNotFound):
			http.Error(w, "it is not there any more: "+err.Error(), http.StatusNotFound)
		case errors.Is(err, errWhat):
			http.Error(w, err.Error(), http.StatusBadRequest)
		default:
			http.Error(w, err.Error(), http.StatusBadGateway)
		}
	}
}

var errWhat = errors.New("the form has to have an id, or all=yes")

// chosen returns the dead letters that a form names: one, or all.
func chosen(f url.Values) (queue.Filter, error) {
	switch id, all := f.Get("id"), f.Get("all") == "yes"; {
	case id != "" && !all:
		return queue.Filter{IDs: []string{id}}, nil
	case all && id == "":
		return queue.Filter{}, nil
	}
	return queue.Filter{}, errWhat
}

func (p *pages) requeue(ctx context.Context, f url.Values) error {
	which, err := chosen(f)
	if err != nil {
		return err
	}
	if len(which.IDs) > 0 {
		return p.Queue.Requeue(ctx, which.IDs...)
	}
	var ids []string // first all, as those that are requeued may die again
	for d, err := range p.Queue.DeadLetters(ctx, which) {
		if err != nil {
			return err
		}
		ids = append(ids, d.ID)
	}
	for some := range slices.Chunk(ids, 500) {
		if err := p.Queue.Requeue(ctx, some...); err != nil && !errors.Is(err, queue.ErrNotFound) { // another visitor was faster
			return err
		}
	}
	return nil
}

func (p *pages) purge(ctx context.Context, f url.Values) error {
	which, err := chosen(f)
	if err != nil {
		return err
	}
	n, err := p.Queue.Purge(ctx, which)
	if err == nil && n == 0 && len(which.IDs) > 0 {
		err = fmt.Errorf("%w: dead letter %q", queue.ErrNotFound, which.IDs[0])
	}
	return err
}

// health says whether the server can be reached: 200, with what is wrong otherwise, or 503.
func (p *pages) health(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 3*time.Second)
	defer cancel()
	h, err := p.Queue.Health(ctx)
	code := http.StatusOK
	if err != nil {
		h.OK, h.Problems, code = false, []string{err.Error()}, http.StatusServiceUnavailable
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(h) // the other side has gone
}
