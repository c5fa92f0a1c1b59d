package live

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // live.html
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/chart"
	"github.com/firq-go/firq/cmd/firqbench/internal/page"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/serve"
)

// Pages shows the last view to browsers: / is a page that keeps itself up to
// date, /view.json the view, and /events a stream of what is new on the page
// (server-sent events). All methods may be called from anywhere.
type Pages struct {
	mux *http.ServeMux

	mu      sync.Mutex
	view    *View         // nil before the first one
	past    []*View       // some of those before, and the last one, oldest first
	changed chan struct{} // closed when there is a new view
}

// history is how many views the charts show.
const history = 240

// NewPages returns pages that have nothing to show yet.
func NewPages() *Pages {
	p := &Pages{mux: http.NewServeMux(), changed: make(chan struct{})}
	p.mux.HandleFunc("GET /{$}", p.page)
	p.mux.HandleFunc("GET /view.json", p.json)
	p.mux.HandleFunc("GET /events", p.events)
	return p
}

// Show makes v the last view.
func (p *Pages) Show(v *View) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.view = v
	if !v.Over { // that one is about the whole run
		p.past = append(p.past, v)
	}
	if len(p.past) > history {
		p.past = p.past[len(p.past)-history:]
	}
	close(p.changed)
	p.changed = make(chan struct{})
}

// last returns the last view, nil if there is none, those before it, and what is
// closed when there is a newer one.
func (p *Pages) last() (v *View, past []*View, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.view, append([]*View(nil), p.past...), p.changed
}

// ServeHTTP implements http.Handler.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", policy)
	p.mux.ServeHTTP(w, r)
}

//go:embed live.html
var source string

// script replaces the part of the page that changes. Without it the page reloads
// itself.
const script = `const main = document.querySelector("main"), events = new EventSource("events");
events.onmessage = e => { main.innerHTML = e.data; };
events.addEventListener("over", () => events.close());`

var (
	live = template.Must(template.New("page").Funcs(template.FuncMap{
		"script": func() template.JS { return script },
		"style":  func() template.CSS { return template.CSS(page.Style) }, //nolint:gosec // a file of this module
	}).Parse(source))
	scriptHash = sha256.Sum256([]byte(script))
	policy     = "default-src 'none'; style-src 'unsafe-inline'; connect-src 'self'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(scriptHash[:]) + "'; " + serve.FrameAncestors
)

func (p *Pages) page(w http.ResponseWriter, _ *http.Request) {
	v, past, _ := p.last()
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = live.Execute(w, shown(v, past)) // the browser has gone: an error cannot be reported
}

func (p *Pages) json(w http.ResponseWriter, _ *http.Request) {
	v, _, _ := p.last()
	if v == nil {
		http.Error(w, "nothing has been measured yet", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	_ = enc.Encode(v)
}

func (p *Pages) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	var sent *View
	for closing := false; ; {
		v, past, changed := p.last()
		if v != sent {
			var b bytes.Buffer
			if err := live.ExecuteTemplate(&b, "view", shown(v, past)); err != nil {
				return
			}
			for line := range strings.Lines(b.String()) {
				fmt.Fprintf(w, "data: %s\n", strings.TrimRight(line, "\r\n")) //nolint:errcheck // Flush reports it
			}
			if v.Over {
				fmt.Fprint(w, "\nevent: over\ndata: \n") //nolint:errcheck // likewise
			}
			fmt.Fprint(w, "\n") //nolint:errcheck // likewise
		}
		if sent = v; control.Flush() != nil || closing || v != nil && v.Over {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done(): // the server ends, maybe right after the last view
			closing = true
		}
	}
}

// content is what the template shows.
type content struct {
	*View
	Head   string
	Rows   []contentRow
	Charts []liveChart
	Defs   template.HTML // what the pictures refer to
}

type contentRow struct {
	Label  string
	Values []string
}

type liveChart struct {
	Title   string
	Legend  []key
	Picture template.HTML
}

type key struct {
	Name   string
	Swatch template.HTML
}

// shown makes the page's content; of nothing where v is nil.
func shown(v *View, past []*View) content {
	c := content{View: v}
	if v == nil {
		return c
	}
	c.Head = fmt.Sprintf("after %v, the last second", v.At.Round(100*time.Millisecond))
	if v.Over {
		c.Head = fmt.Sprintf("ended after %v: the whole run", v.At.Round(100*time.Millisecond))
	}
	for _, r := range rows {
		row := contentRow{Label: r.label}
		for i := range v.Sides {
			value := "-"
			if s := &v.Sides[i]; s.Span > 0 {
				value = r.value(s)
			}
			row.Values = append(row.Values, value)
		}
		c.Rows = append(c.Rows, row)
	}
	var defs chart.Defs
	for _, d := range []struct {
		title string
		y     chart.Axis
		of    func(*Side) float64
	}{
		{"Throughput", chart.Axis{Label: "tasks per second", Format: amount, FromZero: true}, func(s *Side) float64 { return s.TasksPerSec }},
		{"Queue time, 99th percentile", chart.Axis{Label: "queue time (log scale)", Scale: chart.Log, Format: nanoseconds}, func(s *Side) float64 { return float64(s.Queue.P99) }},
		{"Fairness (Jain)", chart.Axis{Label: "index, 1 is best", FromZero: true}, func(s *Side) float64 { return s.Fairness.Jain }},
	} {
		c.Charts = append(c.Charts, draw(&defs, d.title, d.y, past, d.of)...)
	}
	c.Defs = template.HTML(defs.SVG()) //nolint:gosec // it escapes all text itself
	return c
}

func nanoseconds(ns float64) string { return report.Brief(report.Duration(time.Duration(ns))) }
func amount(n float64) string       { return report.Brief(report.Count(n)) }

// draw makes a chart of one figure over time; none of nothing.
func draw(defs *chart.Defs, title string, y chart.Axis, past []*View, of func(*Side) float64) []liveChart {
	c := chart.Chart{
		ID: chart.Slug(title), Title: title, About: "Over the last minutes.",
		X: chart.Axis{Label: "time, seconds", Tight: true}, Y: y,
	}
	for _, v := range past {
		for i := range v.Sides {
			s := &v.Sides[i]
			if i == len(c.Series) {
				c.Series = append(c.Series, chart.Series{Name: s.Contestant, Slot: page.Slot(s.Contestant)})
			}
			if s.Span > 0 {
				c.Series[i].Points = append(c.Series[i].Points, chart.Point{X: v.At.Seconds(), Y: of(s)})
			}
		}
	}
	if c.Empty() {
		return nil
	}
	l := liveChart{Title: title, Picture: template.HTML(c.SVG(defs))} //nolint:gosec // it escapes all text itself
	for _, s := range c.Visible() {
		l.Legend = append(l.Legend, key{s.Name, template.HTML(defs.Swatch(s.Slot, false))}) //nolint:gosec // made of numbers
	}
	return []liveChart{l}
}
