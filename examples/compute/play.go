package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/firq-go/firq/hist"
)

// ask asks for a report.
type ask func(ctx context.Context, tenant string, last int) error

// show plays all three ways, and prints what the tenants saw.
func (o options) show(ctx context.Context, db *orders, w io.Writer) error {
	alone, err := o.alone(ctx, db)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "One query alone takes %v; %d at a time. Noisy: %d calls/s; 9 quiet tenants: %d calls/s each; deadline %v; %v each.\n\n",
		alone.Round(time.Microsecond), o.slots, o.noisy, o.quiet, o.deadline, o.play); err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "way\tquiet p50\tquiet p99\tquiet in time\tnoisy in time/s\tcalls\tqueries")
	if err := o.row(ctx, t, "the table alone", func(ctx context.Context, tenant string, last int) error {
		_, err := db.top(ctx, tenant, last)
		return err
	}, db); err != nil {
		return err
	}
	for _, ttl := range []time.Duration{0, o.ttl} {
		name := "compute, keeps nothing"
		if ttl > 0 {
			name = "compute, TTL " + ttl.String()
		}
		s, err := o.open(db, ttl)
		if err != nil {
			return err
		}
		err = o.row(ctx, t, name, func(ctx context.Context, tenant string, last int) error {
			_, err := s.Do(ctx, tenant, last)
			return err
		}, db)
		if err = firstOf(err, s.Shutdown(ctx)); err != nil {
			_ = s.Close()
			return err
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, "\nHits do not pass the gate: over HTTP it is firqhttp in front that keeps a client from taking all processors with them (-listen).")
	return err
}

// alone returns how long a query takes when no other runs.
func (o options) alone(ctx context.Context, db *orders) (time.Duration, error) {
	const n = 50
	began := time.Now()
	for range n {
		if _, err := db.top(ctx, tenantName(1), days); err != nil {
			return 0, err
		}
	}
	return time.Since(began) / n, nil
}

func (o options) row(ctx context.Context, w io.Writer, name string, do ask, db *orders) error {
	before := db.asked.Load()
	r := o.round(ctx, do)
	if err := ctx.Err(); err != nil {
		return err
	}
	ms := func(q float64) time.Duration { return r.times.Quantile(q).Round(10 * time.Microsecond) }
	_, err := fmt.Fprintf(w, "%s\t%v\t%v\t%d of %d\t%.0f\t%d\t%d\n", name, ms(0.5), ms(0.99),
		r.inTime.Load(), r.asked.Load(), float64(r.noisy.Load())/o.play.Seconds(), r.asked.Load()+r.shouted.Load(), db.asked.Load()-before)
	return err
}

// result holds the tenants' times in one round.
type result struct {
	times         *hist.Snapshot // of the quiet tenants' calls, in time or not
	asked, inTime atomic.Int64   // calls of the quiet tenants
	shouted       atomic.Int64   // calls of the noisy tenant
	noisy         atomic.Int64   // of these, the ones answered in time
}

// round lets all tenants ask for a while, and waits for the last answer.
func (o options) round(ctx context.Context, do ask) *result {
	r := &result{times: hist.NewSnapshot()}
	times := hist.New()
	ctx, stop := context.WithTimeout(ctx, o.play)
	defer stop()
	var all sync.WaitGroup
	call := func(tenant string, last int) bool {
		// Each call has its own deadline: at the end of the round the last calls may finish.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.deadline)
		defer cancel()
		return do(ctx, tenant, last) == nil && ctx.Err() == nil
	}
	all.Go(func() {
		o.pace(ctx, o.noisy, func(i int) {
			all.Go(func() {
				r.shouted.Add(1)
				if call(tenantName(0), 1+i%min(10*o.reports, days)) {
					r.noisy.Add(1)
				}
			})
		})
	})
	for q := 1; q < 10; q++ {
		all.Go(func() {
			o.pace(ctx, o.quiet, func(i int) {
				all.Go(func() {
					r.asked.Add(1)
					began := time.Now()
					if call(tenantName(q), days-i%min(o.reports, days)) {
						r.inTime.Add(1)
					}
					times.Record(time.Since(began))
				})
			})
		})
	}
	all.Wait()
	r.times = times.Snapshot()
	return r
}

// pace calls f perSecond times per second until ctx ends. If it is late, it makes up for the
// missed calls.
func (o options) pace(ctx context.Context, perSecond int, f func(i int)) {
	tick := time.NewTicker(max(time.Second/time.Duration(perSecond), time.Millisecond))
	defer tick.Stop()
	began := time.Now()
	for i := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for due := int(time.Since(began).Seconds() * float64(perSecond)); i < due; i++ {
			f(i)
		}
	}
}
