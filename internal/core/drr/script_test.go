package drr

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/firq-go/firq"
)

var update = flag.Bool("update", false, "rewrite the golden output in testdata")

// TestScripts runs testdata/*.txt. A line is a comment (#), a command or, after
// "= ", what the command before it said:
//
//	config [order=fifo|lifo|adaptive] [low=2] [high=4] [aging=10] [across] [new-first]
//	tenant NAME [quantum=1]            quantum NAME N
//	push NAME [cost=1] [prio=normal] [due=T] [id=ID] [n=1]
//	next [N]          deliver N tasks, one line each
//	serve N           deliver N tasks, replacing each by one like it, without a line
//	now T             move the clock
//	cancel ID         reclaim [N]           evict NAME [prio=normal] [newest]
//	block NAME        unblock NAME          charge NAME N [prio=normal]
//	state             the lists, in order, with deficits; the round
//	plot [SCALE]      which tenants were served since the last plot, SCALE units of cost a column
func TestScripts(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txt")
	if len(files) == 0 {
		t.Fatal("no scripts")
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := runScript(t, string(text))
			switch {
			case *update:
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			case got != string(text):
				t.Errorf("output differs:\n%s", firstDifference(got, string(text)))
			}
		})
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d: got  %s\nline %d: want %s", i+1, g[i], i+1, w[i])
		}
	}
	return fmt.Sprintf("got %d lines, want %d", len(g), len(w))
}

// script is one script's Queue and what it has to say.
type script struct {
	t       *testing.T
	q       *Queue[string, string]
	cfg     Config
	tenants []*Tenant[string, string]
	tickets map[string]*firq.Ticket
	pushed  map[string]int // per tenant, to name tasks
	now     int64
	served  []served // since the last plot
	said    []string
}

type served struct {
	key  string
	cost int64
}

func (s *script) Expired(_ *Tenant[string, string], task *Task[string]) {
	s.say("%s expired", task.Payload)
}

func (s *script) say(format string, args ...any) {
	s.said = append(s.said, fmt.Sprintf(format, args...))
}

// runScript returns the script with the output that it should have.
func runScript(t *testing.T, text string) string {
	s := &script{t: t, tickets: map[string]*firq.Ticket{}, pushed: map[string]int{}}
	s.q = New[string, string](s.cfg, s)
	var out strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "=") {
			continue
		}
		out.WriteString(line)
		if words := strings.Fields(line); len(words) > 0 && words[0] != "#" {
			s.do(words[0], parseArgs(words[1:]))
			if err := invariants(s.q, s.tenants); err != nil {
				t.Fatalf("after %q: %v", line, err)
			}
		}
		for _, said := range s.said {
			fmt.Fprintf(&out, "= %s\n", said)
		}
		s.said = nil
	}
	return out.String()
}

// args are a command's words by position and by name; a bare word is both.
type args struct {
	at   []string
	name map[string]string
}

func parseArgs(words []string) args {
	a := args{name: map[string]string{}}
	for _, word := range words {
		if name, value, ok := strings.Cut(word, "="); ok {
			a.name[name] = value
		} else {
			a.at = append(a.at, word)
			a.name[word] = "true"
		}
	}
	return a
}

func number(text string, otherwise int64) int64 {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	return otherwise
}

func (a args) number(i int, otherwise int64) int64 {
	if i < len(a.at) {
		return number(a.at[i], otherwise)
	}
	return otherwise
}

func (a args) has(name string) bool { return a.name[name] == "true" }

func (a args) prio() firq.Priority {
	for p := firq.PriorityVeryLow; p <= firq.PriorityCritical; p++ {
		if p.String() == a.name["prio"] {
			return p
		}
	}
	return firq.PriorityNormal
}

func (s *script) tenant(a args) *Tenant[string, string] {
	for _, t := range s.tenants {
		if len(a.at) > 0 && t.Key == a.at[0] {
			return t
		}
	}
	s.t.Fatalf("no such tenant: %v", a.at)
	return nil
}

func (s *script) do(command string, a args) {
	switch command {
	case "config":
		s.cfg = Config{
			Order:    firq.Order(max(slices.Index([]string{"fifo", "lifo", "adaptive"}, a.name["order"]), 0)),
			LowWater: int(number(a.name["low"], 2)), HighWater: int(number(a.name["high"], 4)),
			Aging: number(a.name["aging"], 0), Across: a.has("across"), NewFirst: a.has("new-first"),
		}
		s.q = New[string, string](s.cfg, s)
		for _, t := range s.tenants { // start again
			key, quantum := t.Key, t.Quantum()
			*t = Tenant[string, string]{}
			t.Init(key, quantum)
		}
		s.served = nil
		clear(s.pushed)
	case "tenant":
		t := new(Tenant[string, string])
		t.Init(a.at[0], number(a.name["quantum"], 1))
		s.tenants = append(s.tenants, t)
	case "quantum":
		s.tenant(a).SetQuantum(a.number(1, 1))
	case "now":
		s.now = a.number(0, 0)
	case "push":
		s.push(a)
	case "next":
		for range a.number(0, 1) {
			s.next(true)
		}
	case "serve":
		for range a.number(0, 1) {
			t, task := s.next(false)
			task.Ticket = nil
			push(s.q, t, task)
		}
	case "cancel":
		_, task := s.q.Remove(s.tickets[a.at[0]].Place(&testOwner))
		s.say("%s cancelled", task.Payload)
	case "reclaim":
		s.say("more: %v", s.q.Reclaim(s.now, int(a.number(0, 100))))
	case "evict":
		if task, ok := s.q.Evict(s.tenant(a), a.prio(), a.has("newest")); ok {
			s.say("%s evicted", task.Payload)
		} else {
			s.say("nothing to evict")
		}
	case "block":
		s.q.Block(s.tenant(a))
	case "unblock":
		s.q.Unblock(s.tenant(a))
	case "charge":
		s.q.Charge(s.tenant(a), a.prio(), a.number(1, 0))
	case "state":
		s.state()
	case "plot":
		s.plot(a.number(0, 1))
	default:
		s.t.Fatalf("unknown command %q", command)
	}
}
