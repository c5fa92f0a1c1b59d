package proxy

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/firq-go/firq/contrib/firqfleet"
	"github.com/firq-go/firq/contrib/firqprom"
	"github.com/firq-go/firq/contrib/firqproxy/internal/config"
	"github.com/firq-go/firq/gate"
	"github.com/firq-go/firq/rate"
)

// shared are the slots and rates: of this process, or of a fleet.
type shared struct {
	gate     gate.Acquirer[string]
	rates    rate.Taker[string]
	setLimit func(context.Context, int) error
	reset    func(tenant string) // its weight has changed
	shutdown func(context.Context) error
	close    func()
	source   prometheus.Collector

	unlimited bool // it cannot limit the slots of a tenant
}

// local makes slots and rates of this process alone.
func (p *Proxy) local(cfg *config.Config) (shared, error) {
	l := cfg.Limits
	g, err := gate.Open(l.Slots, gate.Config[string]{
		MaxGlobal: l.Waiting, MaxPerTenant: l.WaitingPerTenant, MaxQueueAge: l.MaxWait,
		MaxInFlightFor:  func(tenant string) int { return p.current.Load().InFlightOf(tenant) },
		QuantumFor:      func(tenant string) int64 { return p.current.Load().QuantumOf(tenant) },
		NewTenantsFirst: true, // a quiet tenant does not wait for a round
	})
	if err != nil {
		return shared{}, err
	}
	source, err := firqprom.NewGate(g, firqprom.Options[string]{Scheduler: "proxy"})
	if err != nil {
		return shared{}, err
	}
	return shared{
		gate:     g,
		rates:    rate.New(rate.Config[string]{LimitFor: func(tenant string) rate.Limit { return p.current.Load().RateOf(tenant) }}),
		setLimit: func(_ context.Context, n int) error { g.SetLimit(n); return nil },
		reset:    g.ResetQuantum,
		shutdown: g.Shutdown,
		close:    func() { _ = g.Close() },
		source:   source,
	}, nil
}

// How long joining and leaving a fleet may take.
const (
	joining = 10 * time.Second
	leaving = time.Second
)

// fleet joins a fleet.
func (p *Proxy) fleet(ctx context.Context, cfg *config.Config) (shared, error) {
	l, f := cfg.Limits, cfg.Fleet
	ctx, cancel := context.WithTimeout(ctx, joining)
	defer cancel()
	client := f.Client.Open()
	fc := firqfleet.Config{
		Client: client, Name: f.Name, Lease: f.Lease, Down: f.Down,
		MaxGlobal: l.Waiting, MaxPerTenant: l.WaitingPerTenant, MaxQueueAge: l.MaxWait,
		WeightFor: func(tenant string) float64 { return p.current.Load().WeightOf(tenant) },
	}
	limited := cfg.LimitsInFlight()
	if limited { // else each permit would be a turn of the server's
		fc.MaxInFlightFor = func(tenant string) int { return p.current.Load().InFlightOf(tenant) }
	}
	g, err := firqfleet.New(ctx, l.Slots, fc)
	if err != nil {
		_ = client.Close()
		return shared{}, fmt.Errorf("fleet: %w", err)
	}
	end := func() {
		_ = g.Close()
		select {
		case <-g.Done():
		case <-time.After(leaving): // a permit is still out, or the server is away: the lease will end
		}
		_ = client.Close()
	}
	source, err := firqprom.NewFleet(g, firqprom.Options[string]{Scheduler: "proxy"})
	if err != nil {
		end()
		return shared{}, err
	}
	rates, err := firqfleet.NewRate(firqfleet.RateConfig{
		Client: client, Name: f.Name, Down: f.Down,
		LimitFor: func(tenant string) rate.Limit { return p.current.Load().RateOf(tenant) },
	})
	if err != nil {
		end()
		return shared{}, err
	}
	return shared{
		gate: g, rates: rates, source: source, close: end,
		setLimit: g.SetLimit,
		reset:    func(string) {}, // it asks once a second
		shutdown: g.Shutdown, unlimited: !limited,
	}, nil
}
