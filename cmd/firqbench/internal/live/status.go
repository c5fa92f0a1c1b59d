package live

import (
	"fmt"
	"html/template"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/firq-go/firq/cmd/firqbench/internal/page"
	"github.com/firq-go/firq/cmd/firqbench/internal/serve"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

// Status shows how far a suite has come: a page with the tables so far. It is the
// suite's observer, and what the tables are written to as well.
type Status struct {
	out  io.Writer
	next suite.Observer // is called for everything too; set before the suite begins

	mu     sync.Mutex
	tables strings.Builder
	now    string
}

// NewStatus returns a status whose tables go to out as well. Observe has
// to be called before the suite begins.
func NewStatus(out io.Writer) *Status { return &Status{out: out, now: "not begun yet"} }

// Write takes a part of a table.
func (s *Status) Write(p []byte) (int, error) {
	s.mu.Lock()
	s.tables.Write(p)
	s.mu.Unlock()
	return s.out.Write(p)
}

// Observe makes s pass on to o its calls as an observer.
func (s *Status) Observe(o suite.Observer) { s.next = o }

// Scenario implements suite.Observer.
func (s *Status) Scenario(cells []suite.Cell) { s.next.Scenario(cells) }

// Before implements suite.Observer.
func (s *Status) Before(done, total int, cell *suite.Cell, contestant string, round int) {
	s.mu.Lock()
	s.now = fmt.Sprintf("run %d of %d: %s, %s, %s, round %d", done+1, total, cell.Scenario.Name, cell.Label(), contestant, round+1)
	s.mu.Unlock()
	s.next.Before(done, total, cell, contestant, round)
}

var status = template.Must(template.New("status").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="color-scheme" content="light dark"/>
<meta http-equiv="refresh" content="5"/>
<title>firqbench run</title>
<style>{{.Style}}
pre { overflow-x: auto; overflow-wrap: normal; font-size: .8rem; }
</style>
</head>
<body>
<h1>firqbench run</h1>
<p>{{.Now}}</p>
<p class="small"><a href="debug/pprof/">profiles</a>. Looking at them takes CPU time from what is measured.</p>
<pre>{{.Tables}}</pre>
</body>
</html>
`))

// ServeHTTP implements http.Handler.
func (s *Status) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/" {
		http.NotFound(w, r)
		return
	}
	s.mu.Lock()
	now, tables := s.now, s.tables.String()
	s.mu.Unlock()
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; "+serve.FrameAncestors)
	_ = status.Execute(w, struct { // the browser has gone: an error cannot be reported
		Style       template.CSS
		Now, Tables string
	}{template.CSS(page.Style), now, tables}) //nolint:gosec // a file of this module
}
