package drr

import (
	"fmt"
	"strings"
)

// The commands of scripts that have much to do or to say.

func (s *script) push(a args) {
	t := s.tenant(a)
	for range number(a.name["n"], 1) {
		s.pushed[t.Key]++
		id := a.name["id"]
		if id == "" {
			id = fmt.Sprintf("%s%d", t.Key, s.pushed[t.Key])
		}
		tk := newTicket()
		s.tickets[id] = tk
		push(s.q, t, Task[string]{
			Payload: id, Cost: number(a.name["cost"], 1), Priority: a.prio(),
			Enqueued: s.now, Due: number(a.name["due"], NoDeadline), Ticket: tk,
		})
	}
}

func (s *script) next(aloud bool) (*Tenant[string, string], Task[string]) {
	for range 1000 {
		t, task, verdict := s.q.Next(s.now)
		switch verdict {
		case Empty:
			s.say("empty")
			return t, task
		case Delivered:
			s.served = append(s.served, served{t.Key, task.Cost})
			if aloud {
				s.say("%s cost %d, %s has %d left", task.Payload, task.Cost, t.Key, s.q.seatOf(t, int(task.Priority)-1).deficit)
			}
			return t, task
		}
	}
	s.t.Fatal("nothing delivered in 1000 calls")
	return nil, Task[string]{}
}

func (s *script) state() {
	for i := len(s.q.lists) - 1; i >= 0; i-- {
		l := &s.q.lists[i]
		if l.fresh.n+l.freed.n+l.active.n == 0 {
			continue
		}
		for _, in := range []struct {
			name  string
			seats *seats[string, string]
		}{{"fresh", &l.fresh}, {"freed", &l.freed}, {"active", &l.active}} {
			var seats []string
			for f := range in.seats.all {
				seats = append(seats, fmt.Sprintf("%s %d", f.tenant.Key, f.deficit))
			}
			if len(seats) > 0 {
				s.say("list %d %s: %s", i, in.name, strings.Join(seats, ", "))
			}
		}
	}
	s.say("round %d, %d tasks, %d ready", s.q.lists[0].clock(), s.q.Len(), s.q.Ready())
}

// plot says a row per tenant: time goes to the right in units of work served.
func (s *script) plot(scale int64) {
	work := map[string]int64{}
	rows := map[string]*strings.Builder{}
	for _, t := range s.tenants {
		rows[t.Key] = new(strings.Builder)
	}
	for _, one := range s.served {
		work[one.key] += one.cost
		columns := int(max(one.cost/scale, 1))
		for key, row := range rows {
			mark := "."
			if key == one.key {
				mark = "#"
			}
			row.WriteString(strings.Repeat(mark, columns))
		}
	}
	for _, t := range s.tenants {
		s.say("%-6s |%s| %d", t.Key, rows[t.Key], work[t.Key])
	}
	s.served = nil
}
