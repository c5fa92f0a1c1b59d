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
	"github.com/firq-go/firq/adapter"
)

// TenantFunc says whose call it is; false: it does not know. A client that can
// choose the name has as many turns as it invents names: see Known.
type TenantFunc func(context.Context, *Call) (tenant string, ok bool)

// ShortName returns the name by which the interceptor, and the functions of this package, call a
// tenant of that name, so that what clients send occupies little memory: of more
// than 64 bytes "sha256:" and the first 16 bytes of the SHA-256 in hexadecimal, else
// the name itself.
func ShortName(name string) string { return adapter.ShortName(name) }

// Known asks f, and believes it only if known says that there is such a tenant;
// else it does not know. Names that clients make up then share the turn of the function that
// comes next in FirstOf, or of Config.Anonymous, instead of having one each:
//
//	firqgrpc.FirstOf(firqgrpc.Known(firqgrpc.Metadata("x-api-key"), customers.Has), firqgrpc.Peer)
//
// known gets the tenant as f returns it: ShortName of the text. It is called by many
// goroutines concurrently, for each call, and before it has waited: it should look into
// memory. A nil f or known panics.
func Known(f TenantFunc, known func(tenant string) bool) TenantFunc {
	if f == nil || known == nil {
		panic("firq: firqgrpc: Known: f and known must not be nil")
	}
	return func(ctx context.Context, c *Call) (string, bool) {
		if tenant, ok := f(ctx, c); ok && known(tenant) {
			return tenant, true
		}
		return "", false
	}
}

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

// Metadata takes the tenant from a key of the metadata, its first value. A client that
// can call can send any metadata, and has a turn for each: let an earlier
// interceptor or a proxy check it, or see Known. gate.Config.MaxTenants bounds how
// many tenants wait at a time, and with them the memory, but no limit makes invented
// names fair.
func Metadata(key string) TenantFunc {
	key = strings.ToLower(key)
	return func(ctx context.Context, _ *Call) (string, bool) {
		if v := metadata.ValueFromIncomingContext(ctx, key); len(v) > 0 && v[0] != "" {
			return adapter.ShortName(v[0]), true
		}
		return "", false
	}
}

// Peer is a TenantFunc that takes the address that the call comes from: an IPv4
// address, the first 64 bits of an IPv6 one, as one client usually has all of
// these, or whatever else the transport calls its peer. Behind a proxy that is
// the proxy's: see Remote.
func Peer(ctx context.Context, c *Call) (string, bool) { return Remote{}.Tenant(ctx, c) }

// Remote takes the client's address as the tenant, behind proxies too. The zero value trusts
// none, and is Peer.
type Remote struct {
	// Trusted are the addresses of our own proxies. If the call comes from one of them,
	// x-forwarded-for in its metadata is read from the right end to the first address that
	// is not one of them: the client may have made up everything to the left of it.
	Trusted []netip.Prefix
	// Forwarded says that these proxies write forwarded (RFC 7239) instead, of which the
	// parameter "for" is read likewise. Only one of the two is ever believed, because a
	// proxy that writes one may let a client's other one through. A client that a proxy
	// calls unknown, or by an invented name, shares the proxy's turn.
	Forwarded bool
	// V4Bits and V6Bits are how many bits of the address make a tenant. 0: 32 and 64.
	V4Bits, V6Bits int
}

// Tenant is the TenantFunc.
func (r Remote) Tenant(ctx context.Context, _ *Call) (string, bool) {
	p, ok := peer.FromContext(ctx)
	if !ok || p.Addr == nil {
		return "", false
	}
	text := p.Addr.String()
	ap, err := netip.ParseAddrPort(text)
	if err != nil {
		return adapter.ShortName(text), text != ""
	}
	client := adapter.Client(r)
	return client.Tenant(ap.Addr().Unmap().WithZone(""), func() []string {
		return metadata.ValueFromIncomingContext(ctx, client.Header())
	}), true
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
	return adapter.ShortName(name), name != ""
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

// Method is a TenantFunc that makes each method its own tenant, so that a
// flood of one does not hold up the others.
func Method(_ context.Context, c *Call) (string, bool) { return adapter.ShortName(c.Method), true }

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
