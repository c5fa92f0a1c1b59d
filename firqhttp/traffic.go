package firqhttp

import (
	"strings"

	"github.com/firq-go/firq/gate"
)

// Traffic returns what Stats does, as contrib/firqprom and contrib/firqotel read
// it.
func (m *Middleware) Traffic() gate.Traffic {
	s := m.Stats()
	t := gate.Traffic{
		InFlight: s.InFlight,
		Waiting:  s.Waiting,
		Reading:  s.Reading,
		Served:   s.Served,
		Skipped:  s.Skipped,
		Rejected: make(map[string]uint64, len(reasons)),
	}
	for _, r := range reasons {
		t.Rejected[strings.ToLower(string(r.reason))] = s.Rejected[r.reason]
	}
	return t
}
