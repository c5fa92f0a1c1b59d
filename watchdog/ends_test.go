package watchdog

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// failing is a probe that there is something to report of.
var failing = Probe{Name: "p", Call: func(context.Context) error { return errors.New("no luck") }}

// A panic of OnReport, or of a Probe, ends the program, and is not swallowed on the way. Each
// runs in its own program.
func TestUserPanicEndsProgram(t *testing.T) {
	const variable = "FIRQ_TEST_PANICS"
	switch os.Getenv(variable) {
	case "OnReport":
		_ = must(t, Options{Interval: MinTick, Tick: MinTick, Probes: []Probe{failing}, OnReport: func(Report) { panic("OnReport has panicked") }}).Run(context.Background())
		return
	case "Probe":
		_ = must(t, Options{Interval: MinTick, Tick: MinTick, Probes: []Probe{{Name: "p", Call: func(context.Context) error { panic("Probe has panicked") }}}}).
			Run(context.Background())
		return
	}
	for _, name := range []string{"OnReport", "Probe"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestUserPanicEndsProgram$")
		cmd.Env = append(os.Environ(), variable+"="+name)
		out, err := cmd.CombinedOutput()
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.Success() || !strings.Contains(string(out), "panic: "+name+" has panicked") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// An OnReport that ends its goroutine gets the next report all the same, and a Probe that does is
// called again and its end is an error.
func TestUserGoexit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		var reports []Report
		calls := 0
		w := must(t, Options{
			Interval: time.Second, Remind: time.Second,
			Probes: []Probe{{Name: "p", Call: func(context.Context) error { calls++; runtime.Goexit(); return nil }}},
			OnReport: func(r Report) {
				if reports = append(reports, r); len(reports) == 3 {
					cancel()
				}
				runtime.Goexit()
			},
		})
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
		if len(reports) != 3 || calls < 3 || reports[2].Missed != 0 {
			t.Fatalf("%d reports, %d calls: %+v", len(reports), calls, reports)
		}
		if f := reports[0].Findings; len(f) != 1 || f[0].Signal != ProbeError || !strings.Contains(f[0].String(), "Goexit") {
			t.Errorf("%+v", f)
		}
	})
}
