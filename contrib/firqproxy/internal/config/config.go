// Package config is the configuration file of firqproxy.
package config

import (
	"math"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/firq-go/firq/contrib/firqfleet"
	"github.com/firq-go/firq/rate"
)

// Config is the file.
type Config struct {
	Listen    string            `yaml:"listen"`
	Admin     string            `yaml:"admin"`
	Upstream  string            `yaml:"upstream"`
	Tenant    []Source          `yaml:"tenant"`
	Anonymous string            `yaml:"anonymous"`
	Skip      []string          `yaml:"skip"`
	Trusted   []string          `yaml:"trusted"`
	Limits    Limits            `yaml:"limits"`
	Rate      WaitingRate       `yaml:"rate"`
	Tenants   map[string]Tenant `yaml:"tenants"`
	Cost      Cost              `yaml:"cost"`
	Fleet     *Fleet            `yaml:"fleet"`
	Drain     time.Duration     `yaml:"drain"`

	// What check makes of it.

	URL     *url.URL       // of the upstream
	Proxies []netip.Prefix // Trusted
	scale   float64        // quantum of weight 1
}

// Trusts reports whether what a request says of the client that it is forwarded for can be believed: it comes from a proxy of Trusted.
func (c *Config) Trusts(remoteAddr string) bool {
	a, err := netip.ParseAddrPort(remoteAddr)
	if err != nil {
		return false
	}
	addr := a.Addr().Unmap().WithZone("")
	return slices.ContainsFunc(c.Proxies, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// Source says where the tenant of a request is; exactly one field is set.
type Source struct {
	APIKey       *APIKey `yaml:"api_key"`
	Header       string  `yaml:"header"`
	JWTClaim     string  `yaml:"jwt_claim"`
	PathSegments int     `yaml:"path_segments"`
	Remote       *Remote `yaml:"remote"`
}

// APIKey finds the tenant by the keys in a file.
type APIKey struct {
	KeysFile string `yaml:"keys_file"`

	Known map[string]bool `yaml:"-"` // firqhttp.KeyTenant of each key
}

// Remote finds the tenant by the client's address.
type Remote struct {
	Trusted []string `yaml:"trusted"`

	Prefixes []netip.Prefix `yaml:"-"`
}

// Limits are the limits of slots and of what waits for them. 0: no limit, but for Slots.
type Limits struct {
	Slots             int           `yaml:"slots"`
	Waiting           int           `yaml:"waiting"`
	WaitingPerTenant  int           `yaml:"waiting_per_tenant"`
	InFlightPerTenant int           `yaml:"in_flight_per_tenant"`
	MaxWait           time.Duration `yaml:"max_wait"`
}

// Rate is what a tenant may use per second.
type Rate struct {
	PerSecond float64 `yaml:"per_second"`
	Burst     int64   `yaml:"burst"`
}

// Limit returns it as package rate has it.
func (r Rate) Limit() rate.Limit { return rate.Limit{PerSecond: r.PerSecond, Burst: r.Burst} }

// WaitingRate is the rate of all tenants, and how long a request waits for it.
type WaitingRate struct {
	PerSecond float64       `yaml:"per_second"`
	Burst     int64         `yaml:"burst"`
	Wait      time.Duration `yaml:"wait"`
}

// Limit returns it as package rate has it.
func (r WaitingRate) Limit() rate.Limit { return rate.Limit{PerSecond: r.PerSecond, Burst: r.Burst} }

// Tenant is what differs for one tenant. 0 and nil: as for all.
type Tenant struct {
	Weight   float64 `yaml:"weight"`
	InFlight int     `yaml:"in_flight"`
	Rate     *Rate   `yaml:"rate"`
}

// Cost says what a request costs.
type Cost struct {
	Default  int64  `yaml:"default"`
	Header   string `yaml:"header"`
	Response string `yaml:"response"`
}

// Fleet says which processes share the slots and rates. nil: this one alone.
type Fleet struct {
	Redis    string        `yaml:"redis"`
	Name     string        `yaml:"name"`
	Lease    time.Duration `yaml:"lease"`
	WhenDown string        `yaml:"when_down"`

	Client *Server        `yaml:"-"`
	Down   firqfleet.Down `yaml:"-"`
}

// WeightOf returns a tenant's share relative to others.
func (c *Config) WeightOf(tenant string) float64 {
	if w := c.Tenants[tenant].Weight; w > 0 {
		return w
	}
	return 1
}

// QuantumOf returns the same as a quantum of deficit round robin.
func (c *Config) QuantumOf(tenant string) int64 {
	return max(1, int64(math.Round(min(c.WeightOf(tenant)*c.scale, 1e15))))
}

// InFlightOf returns how many slots a tenant may hold; 0: no limit.
func (c *Config) InFlightOf(tenant string) int {
	if n := c.Tenants[tenant].InFlight; n > 0 {
		return n
	}
	return c.Limits.InFlightPerTenant
}

// LimitsInFlight reports whether any tenant has a limit of slots.
func (c *Config) LimitsInFlight() bool {
	for _, t := range c.Tenants {
		if t.InFlight > 0 {
			return true
		}
	}
	return c.Limits.InFlightPerTenant > 0
}

// RateOf returns what a tenant may use per second.
func (c *Config) RateOf(tenant string) rate.Limit {
	if r := c.Tenants[tenant].Rate; r != nil {
		return r.Limit()
	}
	return c.Rate.Limit()
}

// quantum returns the quantum of weight 1. A quantum is a turn, so it should be near what a
// request costs, and it is an integer: the smallest multiple that leaves no weight more than
// 1 % off what it should be.
func (c *Config) quantum() float64 {
	cost := float64(max(1, c.Cost.Default))
	for n := 1.0; n < 100; n++ {
		exact := true
		for tenant := range c.Tenants {
			q := c.WeightOf(tenant) * n * cost
			exact = exact && math.Abs(max(1, math.Round(q))-q) <= q/100
		}
		if exact {
			return n * cost
		}
	}
	return 100 * cost
}
