package model

import (
	"context"
	"runtime"
	"sync"
)

// Prediction is the throughput of a contestant that nobody has measured.
type Prediction struct {
	Contestant  string  `json:"contestant"`
	Transfer    float64 `json:"transfer_ns"`
	Processors  int     `json:"processors"`
	Tenants     int     `json:"tenants"`
	TasksPerSec float64 `json:"tasks_per_sec"`
}

// job is a run to be simulated.
type job struct {
	machine Machine
	anatomy Anatomy
	perTask float64
	load    Load
	rate    float64 // the result
}

// tasks returns how many tasks are simulated: what comes before the measurement, and it.
func (l *Load) tasks() (warmUp, count int) {
	return 8000, max(12_000, 100*l.Processors)
}

func (j *job) run(ctx context.Context) (err error) {
	warmUp, count := j.load.tasks()
	j.rate, err = newDriver(j.machine, j.anatomy, j.perTask, j.load).throughput(ctx, warmUp, count)
	return err
}

// runAll runs jobs on all processors. What comes out does not depend on how many there are.
func runAll(ctx context.Context, jobs []*job) error {
	var wg sync.WaitGroup
	var once sync.Once
	var failed error
	feed := make(chan *job)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for j := range feed {
				if err := j.run(ctx); err != nil {
					once.Do(func() { failed = err })
				}
			}
		})
	}
	for _, j := range jobs {
		feed <- j
	}
	close(feed)
	wg.Wait()
	return failed
}

// Contended is what scripts/multicore measures, with so many processors: at least 8
// producers and 8 consumers.
func Contended(processors, tenants int) Load {
	n := max(8, processors)
	return Load{Processors: processors, Producers: n, Consumers: n, Tenants: tenants, Window: 4096}
}

// Predict simulates the contestants that were calibrated, for each cost of a transfer.
func (c *Calibration) Predict(ctx context.Context, processors []int, transfers []float64, tenants int) ([]Prediction, error) {
	var jobs []*job
	var all []Prediction
	for _, a := range c.known() {
		for _, transfer := range transfers {
			m := c.Machine
			m.Transfer = transfer
			for _, p := range processors {
				jobs = append(jobs, &job{machine: m, anatomy: a, perTask: c.Local[a.Name], load: Contended(p, tenants)})
				all = append(all, Prediction{Contestant: a.Name, Transfer: transfer, Processors: p, Tenants: tenants})
			}
		}
	}
	if err := runAll(ctx, jobs); err != nil {
		return nil, err
	}
	for i, j := range jobs {
		all[i].TasksPerSec = j.rate
	}
	return all, nil
}

// known returns the anatomies of those that were calibrated.
func (c *Calibration) known() (as []Anatomy) {
	for _, a := range anatomies {
		if c.Local[a.Name] > 0 {
			as = append(as, a)
		}
	}
	return as
}
