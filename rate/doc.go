// Package rate limits what each tenant may use per second: requests, bytes, or the tokens
// of a language model. It needs no gate: a gate limits how much runs at a time, a rate how
// much a tenant uses in the long run.
//
//	l := rate.New(rate.Config[string]{Limit: rate.Limit{PerSecond: 1000, Burst: 5000}})
//	...
//	r, err := l.Take(ctx, tenant, estimate, 0)
//	if errors.Is(err, rate.ErrLimited) {
//		return tooMany(r.RetryAfter)
//	}
//	used := serve()
//	_ = l.Charge(ctx, tenant, used-estimate)
//
// # What is guaranteed
//
// A tenant has Burst at first, gets PerSecond, and saves up no more than Burst: the generic
// cell rate algorithm (GCRA, ITU-T I.371), which is a token bucket without a timer. In any
// interval of t seconds calls take at most Burst + PerSecond x t, except that a call which
// costs more than Burst passes when the burst is whole; it leaves a debt, which the calls
// after it wait out. So no call is refused for ever. A refusal takes nothing.
//
// Calls of a tenant that wait pass in the order in which they came, and no later call
// overtakes them. A call that would have to wait for longer than it may is refused
// immediately. One that leaves has taken nothing, and those behind it pass the sooner.
//
// Charge corrects what a call has cost where that is known only afterwards. What it adds
// may be more than there is: a debt.
//
// # Which Taker
//
// Limiter counts in this process. The fleet-wide one of contrib/firqfleet, which all
// replicas of a service share, has the same methods: both are a Taker, and so is what All
// and Count make of them. The middleware firqhttp and contrib/firqgrpc take any of them.
//
//	perTenant := rate.All(requests, tokens) // both, or none
//
// # Progress
//
// Take and Charge take the lock of one stripe of tenants, as short as it takes to find the
// tenant and add. The functions of Config are called without it. A tenant whose burst is
// whole is forgotten by later calls, a few at each of them, and by Len.
package rate
