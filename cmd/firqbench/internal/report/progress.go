package report

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/cheggaaa/pb/v3"
	"golang.org/x/term"

	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

// Progress shows on w how far a suite has come, and writes its tables to out.
// It draws only when it is called, between runs: a bar that redraws
// itself would take CPU from what is measured.
type Progress struct {
	out, w   io.Writer
	terminal bool
	bar      *pb.ProgressBar
	order    []string
	title    string // what is run, instead of the name of the scenario
	printed  string // last plain line
	start    time.Time
}

// NewProgress returns the observer of a suite with the given number of runs. Where w is no
// terminal it writes a line per scenario and variant instead of a bar.
func NewProgress(out, w io.Writer, order []string) *Progress {
	return &Progress{out: out, w: w, terminal: IsTerminal(w), order: order, start: time.Now()}
}

const bar = `{{percent . "%3.0f%%"}} {{bar . "[" "=" ">" " " "]"}} {{string . "what"}}`

// newBar returns a bar that is drawn by Write only.
func newBar(w io.Writer, total int) *pb.ProgressBar {
	b := pb.ProgressBarTemplate(bar).New(total)
	b.SetWriter(w).Set(pb.Static, true).Set(pb.Terminal, true)
	b.SetMaxWidth(max(20, b.Width()-3)) // room for the ^C that a terminal echoes
	return b.Start()
}

// Before implements suite.Observer.
func (p *Progress) Before(done, total int, cell *suite.Cell, contestant string, round int) {
	what := p.title
	if what == "" {
		what = fmt.Sprintf("%s, %s", cell.Scenario.Name, cell.Label())
	}
	if !p.terminal {
		if what != p.printed {
			p.printed = what
			Printf(p.w, "[%3d%%] %s%s\n", 100*done/total, what, p.left(done, total))
		}
		return
	}
	if p.bar == nil {
		p.bar = newBar(p.w, total)
	}
	p.bar.SetCurrent(int64(done))
	p.bar.Set("what", Printable(fmt.Sprintf("%s, %s %d%s", what, contestant, round+1, p.left(done, total))))
	p.bar.Write()
}

func (p *Progress) left(done, total int) string {
	if done == 0 {
		return ""
	}
	rest := time.Since(p.start) / time.Duration(done) * time.Duration(total-done)
	return fmt.Sprintf(", %v left", rest.Round(time.Second))
}

// Scenario implements suite.Observer.
func (p *Progress) Scenario(cells []suite.Cell) {
	p.Clear()
	Scenario(p.out, cells, p.order)
}

// Clear takes the bar off the screen; the next run draws it again.
func (p *Progress) Clear() {
	if p.bar != nil {
		clearLine(p.w)
	}
}

func clearLine(w io.Writer) {
	Print(w, "\r\x1b[K")
}

// IsTerminal reports whether w is a terminal with a user.
func IsTerminal(w io.Writer) bool { return Terminal(w) != nil }

// Terminal returns the terminal that w writes to, through a Checked too; nil: w is none,
// or has no user.
func Terminal(w io.Writer) *os.File {
	if c, ok := w.(*Checked); ok {
		w = c.w
	}
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return f
}
