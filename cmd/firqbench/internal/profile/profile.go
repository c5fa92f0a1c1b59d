// Package profile writes the profiles and the execution trace that a user asks
// for.
package profile

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"runtime/trace"

	"github.com/firq-go/firq/cmd/firqbench/internal/report"
)

// Files names the file of each profile; empty: not wanted.
type Files struct {
	CPU, Memory, Mutex, Block, Trace string
}

// Sampling of the mutex and block profiles: dense enough for a run of seconds,
// thin enough not to be what the profile shows.
const (
	mutexFraction = 10     // one contention event in this many
	blockRateNs   = 10_000 // one event per so much blocked time
)

// Start begins what is wanted. stop writes the files; it must be called, once.
func Start(f Files) (stop func() error, err error) {
	var stops []func() error
	stop = func() error {
		var errs []error
		for _, s := range stops {
			errs = append(errs, s())
		}
		return errors.Join(errs...)
	}
	// Every file is created now: a bad path should not cost a whole run.
	begin := func(path, what string, start func(*os.File) error, end func(*os.File) error) {
		if path == "" || err != nil {
			return
		}
		var file *os.File
		if file, err = os.Create(path); err != nil {
			return
		}
		if start != nil {
			if err = start(file); err != nil {
				err = fmt.Errorf("%s profile: %w", what, errors.Join(err, file.Close()))
				return
			}
		}
		stops = append(stops, func() error { return errors.Join(end(file), file.Close()) })
	}
	lookup := func(name string) func(*os.File) error {
		return func(file *os.File) error { return pprof.Lookup(name).WriteTo(file, 0) }
	}
	// The runtime writes these two by itself, and looks at no error.
	var cpu, events *report.Checked
	begin(f.CPU, "cpu", func(file *os.File) error {
		cpu = report.NewChecked(file)
		return pprof.StartCPUProfile(cpu)
	}, func(*os.File) error { pprof.StopCPUProfile(); return cpu.Err() })
	begin(f.Trace, "trace", func(file *os.File) error {
		events = report.NewChecked(file)
		return trace.Start(events)
	}, func(*os.File) error { trace.Stop(); return events.Err() })
	begin(f.Mutex, "mutex", func(*os.File) error { runtime.SetMutexProfileFraction(mutexFraction); return nil }, lookup("mutex"))
	begin(f.Block, "block", func(*os.File) error { runtime.SetBlockProfileRate(blockRateNs); return nil }, lookup("block"))
	begin(f.Memory, "memory", nil, func(file *os.File) error {
		runtime.GC() // so that what is live is up to date
		return lookup("allocs")(file)
	})
	if err != nil {
		return nil, errors.Join(err, stop())
	}
	return stop, nil
}
