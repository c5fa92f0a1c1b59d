package firqgrpc

import (
	"context"
	"crypto/x509"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/firq-go/firq"
)

// TenantFunc says whose call it is; false: it does not know.
type TenantFunc func(context.Context, *Call) (tenant string, ok bool)

// FirstOf asks one after the other, until one knows.
func FirstOf(fs ...TenantFunc) TenantFunc {
	return func(ctx context.Context, c *Call) (string, bool) {
		for _, f := range fs {
			if tenant, ok := f(ctx, c); ok {
				return tenant, true
			}
		}
		return "", false
	}
}

// Metadata takes the tenant from a key of the metadata, its first value. Whoever
// can call can send any metadata: let an earlier interceptor or a proxy check it.
// gate.Config.MaxTenants bounds how many tenants wait at a time, and with them the
// memory, but no limit makes invented names fair: who sends a new one with each call
// has a turn for each, and while MaxTenants of them wait, others who are new are
// refused.
func Metadata(key string) TenantFunc {
	key = strings.ToLower(key)
	return func(ctx context.Context, _ *Call) (string, bool) {
		if v := metadata.ValueFromIncomingContext(ctx, key); len(v) > 0 && v[0] != "" {
			return v[0], true
		}
		return "", false
	}
}

// Peer is a TenantFunc that takes the address that the call comes from: an IPv4
// address, the first 64 bits of an IPv6 one, as one client usually has all of
// these, or whatever else the transport calls its peer. Behind a proxy that is
// the proxy's.
func Peer(ctx context.Context, _ *Call) (string, bool) {
	p, ok := peer.FromContext(ctx)
	if !ok || p.Addr == nil {
		return "", false
	}
	text := p.Addr.String()
	ap, err := netip.ParseAddrPort(text)
	if err != nil {
		return text, text != ""
	}
	addr := ap.Addr().Unmap().WithZone("")
	if addr.Is4() {
		return addr.String(), true
	}
	return netip.PrefixFrom(addr, 64).Masked().String(), true
}

// Certificate is a TenantFunc that takes the name in the client's certificate, if
// the server has verified it (tls.RequireAndVerifyClientCert, for example): its
// first URI (a SPIFFE ID, say), else its first DNS name, else its common name.
func Certificate(ctx context.Context, _ *Call) (string, bool) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return "", false
	}
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.VerifiedChains) == 0 || len(info.State.VerifiedChains[0]) == 0 {
		return "", false
	}
	name := identity(info.State.VerifiedChains[0][0])
	return name, name != ""
}

func identity(c *x509.Certificate) string {
	switch {
	case len(c.URIs) > 0:
		return c.URIs[0].String()
	case len(c.DNSNames) > 0:
		return c.DNSNames[0]
	}
	return c.Subject.CommonName
}

// Method is a TenantFunc that makes each method a tenant of its own, so that a
// flood of one does not hold up the others.
func Method(_ context.Context, c *Call) (string, bool) { return c.Method, true }

// MetadataPriority takes the priority from a metadata key: a name ("very-low",
// "low", "normal", "high", "very-high", "critical") or a number from 1 to 6.
// Anything else, and nothing, is normal. With gate.Config.PriorityScope at its
// default a client gains nothing over others by what it says here.
func MetadataPriority(key string) func(context.Context, *Call) firq.Priority {
	key = strings.ToLower(key)
	return func(ctx context.Context, _ *Call) firq.Priority {
		values := metadata.ValueFromIncomingContext(ctx, key)
		if len(values) == 0 {
			return 0
		}
		for p := firq.PriorityVeryLow; p <= firq.PriorityCritical; p++ {
			if values[0] == p.String() || values[0] == strconv.Itoa(int(p)) {
				return p
			}
		}
		return 0
	}
}

// DeadlineBefore lets a call in only while its handler has at least so much time
// left before the deadline of the client: what would be late anyway gives its slot
// to others. Such a call fails with UNAVAILABLE, reason TIMEOUT, that much earlier.
func DeadlineBefore(needed time.Duration) func(context.Context, *Call) time.Time {
	return func(ctx context.Context, _ *Call) time.Time {
		if d, ok := ctx.Deadline(); ok {
			return d.Add(-needed)
		}
		return time.Time{}
	}
}

// Services returns a function for Config.Skip that lets all methods of the
// services with these full names through, for example "grpc.health.v1.Health";
// without any name it lets nothing through.
func Services(names ...string) func(*Call) bool {
	skip := map[string]bool{}
	for _, name := range names {
		skip[name] = true
	}
	return func(c *Call) bool {
		service, _, ok := strings.Cut(strings.TrimPrefix(c.Method, "/"), "/")
		return ok && skip[service]
	}
}

// Infrastructure is the default of Config.Skip: health checks and reflection.
func Infrastructure(c *Call) bool { return infrastructure(c) }

var infrastructure = Services(
	"grpc.health.v1.Health",
	"grpc.reflection.v1.ServerReflection",
	"grpc.reflection.v1alpha.ServerReflection",
)
