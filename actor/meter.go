package actor

import "runtime/metrics"

// meter counts the goroutines of the process that compute or could. Not safe for concurrent use.
type meter struct{ samples [2]metrics.Sample }

// newMeter returns nil where the runtime does not count them, which it does from Go 1.26 on.
func newMeter() *meter {
	m := &meter{}
	// Goroutines that have a processor, and those that wait for one: all others block.
	m.samples[0].Name = "/sched/goroutines/running:goroutines"
	m.samples[1].Name = "/sched/goroutines/runnable:goroutines"
	metrics.Read(m.samples[:])
	for i := range m.samples {
		// An earlier Go does not know the name.
		if m.samples[i].Value.Kind() != metrics.KindUint64 {
			return nil
		}
	}
	return m
}

// others returns how many goroutines other than the caller's run or wait for a processor: approximately, as
// the runtime counts without stopping any, and counts a processor that looks for a goroutine too. It costs
// some 100 ns, and allocates nothing.
func (m *meter) others() int {
	metrics.Read(m.samples[:])
	n := m.samples[0].Value.Uint64() + m.samples[1].Value.Uint64()
	return max(int(n)-1, 0)
}
