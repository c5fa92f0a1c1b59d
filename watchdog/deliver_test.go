package watchdog

import (
	"bytes"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestStacks: with a report of level critical, at most every StackEvery.
func TestStacks(t *testing.T) {
	s := play(t, Options{StackBytes: 7, StackEvery: 25 * time.Second, Remind: 10 * time.Second}, func(s *scene) {
		s.latency = 300 * ms
		s.pass(1)
		s.latency = 3 * time.Second
		s.pass(42)
	})
	if got := s.levels(); got != "warning critical CRITICAL CRITICAL CRITICAL CRITICAL" {
		t.Fatalf("reported: %s", got)
	}
	for i, want := range []int{0, 7, 0, 0, 7, 0} {
		if got := len(s.reports[i].Stacks); got != want {
			t.Errorf("report %d has %d bytes of stacks, want %d", i, got, want)
		}
	}
}

func TestProfile(t *testing.T) {
	stop := make(chan bool)
	defer close(stop)
	for range 100 {
		go func() { <-stop }()
	}
	all := stacks(1 << 20)
	if !bytes.Contains(all, []byte("TestProfile")) || !bytes.HasPrefix(all, []byte("goroutine profile: total 1")) {
		t.Errorf("the profile: %.200s", all)
	}
	if few := stacks(10); string(few) != "goroutine " {
		t.Errorf("ten bytes of it: %q", few)
	}
}

func TestLog(t *testing.T) {
	var text bytes.Buffer
	noTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Value.Kind() == slog.KindTime {
			return slog.Attr{}
		}
		return a
	}
	log := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{ReplaceAttr: noTime, Level: slog.LevelInfo}))
	s := play(t, Options{Logger: log, StackBytes: 3}, func(s *scene) {
		s.latency = 300 * ms
		s.pass(1)
		s.latency = 3 * time.Second
		s.pass(1)
		s.latency = 0
		s.pass(3)
	})
	if s.levels() != "warning critical ok" {
		t.Errorf("reported: %s", s.levels())
	}
	const rest = " goroutines=9 runnable=4 processor_time=500ms load="
	load := Other.String() // of two processors
	if runtime.NumCPU() == 1 {
		load = Unclear.String()
	}
	want := []string{
		`level=WARN msg="firq: watchdog" level=warning previous=ok reminder=false ` +
			`findings="[warning: scheduling-latency: 200ms, threshold 100ms]" timer_lateness=0s scheduling_latency=200ms` + rest + load + " missed_reports=0",
		`level=ERROR msg="firq: watchdog" level=critical previous=warning reminder=false ` +
			`findings="[critical: scheduling-latency: 2s, threshold 1s]" timer_lateness=0s scheduling_latency=2s` + rest + load + " missed_reports=0 stacks=xxx",
		`level=INFO msg="firq: watchdog" level=ok previous=critical reminder=false findings=[] timer_lateness=0s scheduling_latency=0s` + rest + "unclear missed_reports=0",
	}
	if got := strings.Split(strings.TrimSpace(text.String()), "\n"); !slices.Equal(got, want) {
		t.Errorf("logged:\n%s", text.String())
	}
}
