package watchdog

import (
	"context"
	"log/slog"
	"sync"
)

// pending is how many reports wait for a receiver that is slow.
const pending = 16

// hand puts a report into out. If out is full it drops the oldest, so that the
// receiver gets the newest, and returns 1. Only one goroutine may call it: then
// there is room after the receive.
func hand(out chan Report, r Report) (dropped uint64) {
	select {
	case out <- r:
		return 0
	default:
	}
	select {
	case <-out:
		dropped = 1
	default: // the receiver took one in between
	}
	out <- r
	return dropped
}

// deliver logs the reports and calls OnReport with them, until out is closed and
// empty. seq is that of the last report before. An OnReport that ends its goroutine gets the
// next report in another one, of wg.
func (o *Options) deliver(out <-chan Report, seq uint64, wg *sync.WaitGroup) {
	left := true // by runtime.Goexit, or by a panic, which ends the program
	defer func() {
		if left {
			wg.Go(func() { o.deliver(out, seq, wg) })
		}
	}()
	for r := range out {
		r.Missed = r.Seq - seq - 1
		seq = r.Seq
		if o.Logger != nil {
			r.log(o.Logger)
		}
		if o.OnReport != nil {
			o.OnReport(r)
		}
	}
	left = false
}

func (r *Report) log(l *slog.Logger) {
	ctx, level := context.Background(), slog.LevelInfo
	switch r.Level {
	case Warning:
		level = slog.LevelWarn
	case Critical:
		level = slog.LevelError
	}
	if !l.Enabled(ctx, level) {
		return
	}
	findings := make([]string, len(r.Findings))
	for i, f := range r.Findings {
		findings[i] = f.String()
	}
	attrs := []slog.Attr{
		slog.String("level", r.Level.String()),
		slog.String("previous", r.Previous.String()),
		slog.Bool("reminder", r.Reminder),
		slog.Time("since", r.Since),
		slog.Any("findings", findings),
		slog.Duration("timer_lateness", r.Sample.TimerLateness),
		slog.Duration("scheduling_latency", r.Sample.Scheduling.Tail),
		slog.Int("goroutines", r.Sample.Goroutines),
		slog.Int("runnable", r.Sample.Runnable),
		slog.Duration("processor_time", r.Sample.ProcessorTime),
		slog.String("load", r.Load().String()),
		slog.Uint64("missed_reports", r.Missed),
	}
	if r.Stacks != nil {
		attrs = append(attrs, slog.String("stacks", string(r.Stacks)))
	}
	l.LogAttrs(ctx, level, "firq: watchdog", attrs...)
}
