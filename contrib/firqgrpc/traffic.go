package firqgrpc

import (
	"strings"

	"github.com/firq-go/firq/gate"
)

// Traffic returns what Stats does, as contrib/firqprom and contrib/firqotel read
// it.
func (i *Interceptor) Traffic() gate.Traffic {
	s := i.Stats()
	t := gate.Traffic{
		InFlight: s.InFlight,
		Waiting:  s.Waiting,
		Served:   s.Served,
		Skipped:  s.Skipped,
		Rejected: make(map[string]uint64, len(reasons)),
	}
	for _, r := range reasons {
		t.Rejected[strings.ToLower(string(r.reason))] = s.Rejected[r.reason]
	}
	return t
}
