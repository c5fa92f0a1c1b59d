package fairness

import "math"

// Tenant is what the bound depends on.
type Tenant struct {
	Quantum   int64
	Costliest int64 // the largest cost of its tasks
	Tasks     int   // it is backlogged from the start until the last of them is served
	Shard     int   // where it lives
	// Newcomer: it came while the others were backlogged, and the log begins
	// before its first turn.
	Newcomer bool
}

// Delivery is one entry of a log: a task was served at some instant from Began to
// Ended. The two are equal if the instant is known. Instants are small numbers.
type Delivery struct {
	Tenant       int // index
	Cost         int64
	Began, Ended int
}

// Gaps is what Measure has found.
type Gaps struct {
	tenants []Tenant
	most    []int64 // at i*n+j: the largest that S_i*q_j - S_j*q_i surely was
	served  []int64 // cost, while the tenant was backlogged
}

// Gap returns the largest |S_i/q_i - S_j/q_j| over all intervals in which both
// were backlogged, times q_i*q_j. The change of a difference from its smallest
// value to its largest is an interval's, or an interval's with the signs changed.
func (g *Gaps) Gap(i, j int) int64 {
	n := len(g.tenants)
	return g.most[i*n+j] + g.most[j*n+i]
}

// Turns returns how many quanta's worth the least served tenant was served: a measure of how
// much the log shows.
func (g *Gaps) Turns() int64 {
	least := int64(math.MaxInt64)
	for i, t := range g.tenants {
		if t.Tasks > 0 {
			least = min(least, g.served[i]/t.Quantum)
		}
	}
	return least
}

// meter goes through a log.
type meter struct {
	*Gaps
	began []int64 // cost of the tasks that may have been served
	left  []int   // tasks that cannot have been served yet; 0: not backlogged any more
	turn  int     // the tenant that was served last, and was not compared since; -1: none
}

// Measure looks at every interval of a log, which may be in any order. The costs
// served times the quanta have to fit in an int64.
func Measure(tenants []Tenant, log []Delivery) *Gaps {
	n := len(tenants)
	m := &meter{
		Gaps:  &Gaps{tenants, make([]int64, n*n), make([]int64, n)},
		began: make([]int64, n),
		left:  make([]int, n),
		turn:  -1,
	}
	for i, t := range tenants {
		m.left[i] = t.Tasks
	}
	for _, at := range inTime(log) {
		if d := log[at/2]; at%2 == 0 {
			m.begin(d)
		} else {
			m.end(d)
		}
	}
	m.compare()
	return m.Gaps
}

// begin: from now on d may have been served.
func (m *meter) begin(d Delivery) {
	if d.Tenant != m.turn {
		m.compare()
	}
	if m.left[d.Tenant] == 1 {
		m.compare() // it was backlogged until now
	}
	m.began[d.Tenant] += d.Cost
	m.left[d.Tenant]--
}

// end: by now d has been served. A turn is compared as a whole, for the extremes
// are at its ends.
func (m *meter) end(d Delivery) {
	if m.left[d.Tenant] == 0 {
		return
	}
	if d.Tenant != m.turn {
		m.compare()
		m.turn = d.Tenant
	}
	m.served[d.Tenant] += d.Cost
}

// compare notes how far the tenant of the last turn is surely ahead of the others.
func (m *meter) compare() {
	i := m.turn
	if i < 0 {
		return
	}
	m.turn = -1
	n := len(m.tenants)
	row := m.most[i*n : (i+1)*n]
	qi, si := m.tenants[i].Quantum, m.served[i]
	for j := range row {
		if j != i && m.left[j] > 0 {
			row[j] = max(row[j], si*m.tenants[j].Quantum-m.began[j]*qi)
		}
	}
}

// inTime sorts what happened: 2*k is that delivery k began, 2*k+1 that it ended.
// What began at an instant comes before what ended then.
func inTime(log []Delivery) []int {
	last := 0
	for _, d := range log {
		last = max(last, d.Ended)
	}
	first := make([]int, 2*last+3) // where the marks of each half instant go
	for _, d := range log {
		first[2*d.Began+1]++
		first[2*d.Ended+2]++
	}
	for i := 1; i < len(first); i++ {
		first[i] += first[i-1]
	}
	marks := make([]int, 2*len(log))
	for k, d := range log {
		for end, half := range [2]int{2 * d.Began, 2*d.Ended + 1} {
			marks[first[half]] = 2*k + end
			first[half]++
		}
	}
	return marks
}
