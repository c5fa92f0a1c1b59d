package firqgrpc_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/contrib/firqgrpc"
	"github.com/firq-go/firq/gate"
)

func incoming(kv ...string) context.Context {
	return metadata.NewIncomingContext(context.Background(), metadata.Pairs(kv...))
}

func from(addr net.Addr, auth credentials.AuthInfo) context.Context {
	return peer.NewContext(context.Background(), &peer.Peer{Addr: addr, AuthInfo: auth})
}

func verified(c *x509.Certificate) context.Context {
	return from(nil, credentials.TLSInfo{State: tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{c}}}})
}

func TestTenant(t *testing.T) {
	spiffe, err := url.Parse("spiffe://shop/cart")
	if err != nil {
		t.Fatal(err)
	}
	cn := pkix.Name{CommonName: "cn"}
	unverified := credentials.TLSInfo{State: tls.ConnectionState{PeerCertificates: []*x509.Certificate{{Subject: cn}}}}
	tcp := func(ip string) context.Context {
		return from(&net.TCPAddr{IP: net.ParseIP(ip), Port: 5}, nil)
	}
	local := from(&net.TCPAddr{IP: net.ParseIP("fe80::1"), Port: 5, Zone: "eth0"}, nil)
	byKey := firqgrpc.Metadata("X-Key")
	for name, c := range map[string]struct {
		way  firqgrpc.TenantFunc
		ctx  context.Context
		want string // empty: it does not know
	}{
		"metadata":             {byKey, incoming("x-key", "a"), "a"},
		"metadata twice":       {byKey, incoming("x-key", "a", "x-key", "b"), "a"},
		"metadata empty":       {byKey, incoming("x-key", ""), ""},
		"metadata missing":     {byKey, incoming("y", "a"), ""},
		"no metadata":          {byKey, context.Background(), ""},
		"IPv4":                 {firqgrpc.Peer, tcp("10.0.0.1"), "10.0.0.1"},
		"IPv4 in IPv6":         {firqgrpc.Peer, tcp("::ffff:10.0.0.1"), "10.0.0.1"},
		"IPv6":                 {firqgrpc.Peer, tcp("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64"},
		"IPv6 with a zone":     {firqgrpc.Peer, local, "fe80::/64"},
		"unix":                 {firqgrpc.Peer, from(&net.UnixAddr{Name: "/run/x"}, nil), "/run/x"},
		"no address":           {firqgrpc.Peer, from(nil, nil), ""},
		"no peer":              {firqgrpc.Peer, context.Background(), ""},
		"URI of certificate":   {firqgrpc.Certificate, verified(&x509.Certificate{URIs: []*url.URL{spiffe}, DNSNames: []string{"d"}, Subject: cn}), "spiffe://shop/cart"},
		"DNS of certificate":   {firqgrpc.Certificate, verified(&x509.Certificate{DNSNames: []string{"d", "e"}, Subject: cn}), "d"},
		"name of certificate":  {firqgrpc.Certificate, verified(&x509.Certificate{Subject: cn}), "cn"},
		"nameless certificate": {firqgrpc.Certificate, verified(&x509.Certificate{}), ""},
		"not verified":         {firqgrpc.Certificate, from(nil, unverified), ""},
		"no TLS":               {firqgrpc.Certificate, context.Background(), ""},
		"method":               {firqgrpc.Method, context.Background(), do},
		"first that knows":     {firqgrpc.FirstOf(firqgrpc.Certificate, byKey, firqgrpc.Method), incoming("x-key", "a"), "a"},
		"none knows":           {firqgrpc.FirstOf(firqgrpc.Peer, byKey), context.Background(), ""},
	} {
		got, ok := c.way(c.ctx, &firqgrpc.Call{Method: do})
		if got != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, %v; want %q", name, got, ok, c.want)
		}
	}
}

// A call through our proxies is its client's; what a client that comes by itself says is not
// believed.
func TestRemote(t *testing.T) {
	ours := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	call := func(ip string, kv ...string) context.Context {
		return metadata.NewIncomingContext(from(&net.TCPAddr{IP: net.ParseIP(ip), Port: 5}, nil), metadata.Pairs(kv...))
	}
	for name, c := range map[string]struct {
		remote firqgrpc.Remote
		ctx    context.Context
		want   string
	}{
		"no proxy is trusted":    {firqgrpc.Remote{}, call("10.0.0.1", "x-forwarded-for", "9.9.9.9"), "10.0.0.1"},
		"not from a proxy":       {firqgrpc.Remote{Trusted: ours}, call("9.9.9.9", "x-forwarded-for", "8.8.8.8"), "9.9.9.9"},
		"from a proxy":           {firqgrpc.Remote{Trusted: ours}, call("10.0.0.1", "x-forwarded-for", "9.9.9.9"), "9.9.9.9"},
		"two proxies and a lie":  {firqgrpc.Remote{Trusted: ours}, call("10.0.0.1", "x-forwarded-for", "8.8.8.8, 9.9.9.9", "x-forwarded-for", "10.0.0.2"), "9.9.9.9"},
		"nothing":                {firqgrpc.Remote{Trusted: ours}, call("10.0.0.1"), "10.0.0.1"},
		"the other header":       {firqgrpc.Remote{Trusted: ours}, call("10.0.0.1", "forwarded", "for=9.9.9.9"), "10.0.0.1"},
		"Forwarded":              {firqgrpc.Remote{Trusted: ours, Forwarded: true}, call("10.0.0.1", "forwarded", `for=8.8.8.8, for="9.9.9.9:77";proto=https`), "9.9.9.9"},
		"Forwarded, v6, network": {firqgrpc.Remote{Trusted: ours, Forwarded: true, V6Bits: 48}, call("10.0.0.1", "forwarded", `for="[2001:db8:1:2::3]"`), "2001:db8:1::/48"},
		"unix":                   {firqgrpc.Remote{Trusted: ours}, from(&net.UnixAddr{Name: "/run/x"}, nil), "/run/x"},
	} {
		if got, ok := c.remote.Tenant(c.ctx, nil); got != c.want || !ok {
			t.Errorf("%s: %q, %t; want %q", name, got, ok, c.want)
		}
	}
}

// TestKnown: names that are not known share the next way's turn.
func TestKnown(t *testing.T) {
	way := firqgrpc.FirstOf(firqgrpc.Known(firqgrpc.Metadata("x-key"), func(key string) bool { return key == "acme" }), firqgrpc.Method)
	for key, want := range map[string]string{"acme": "acme", "invented": do, "": do} {
		if got, ok := way(incoming("x-key", key), &firqgrpc.Call{Method: do}); got != want || !ok {
			t.Errorf("%q: %q, %v; want %q", key, got, ok, want)
		}
	}
	for _, bad := range []func(){
		func() { firqgrpc.Known(nil, func(string) bool { return true }) },
		func() { firqgrpc.Known(firqgrpc.Peer, nil) },
	} {
		func() {
			defer func() {
				if text, _ := recover().(string); !strings.Contains(text, "Known") {
					t.Errorf("%q", text)
				}
			}()
			bad()
		}()
	}
}

// TestLongNames: of what clients send as names little is kept in memory.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	cn := pkix.Name{CommonName: long}
	for name, c := range map[string]struct {
		way firqgrpc.TenantFunc
		ctx context.Context
	}{
		"metadata":    {firqgrpc.Metadata("x-key"), incoming("x-key", long)},
		"peer":        {firqgrpc.Peer, from(&net.UnixAddr{Name: long}, nil)},
		"certificate": {firqgrpc.Certificate, verified(&x509.Certificate{Subject: cn})},
		"method":      {firqgrpc.Method, context.Background()},
		"one's own":   {func(context.Context, *firqgrpc.Call) (string, bool) { return long, true }, context.Background()},
	} {
		if got, ok := c.way(c.ctx, &firqgrpc.Call{Method: long}); name != "one's own" && (got != firqgrpc.ShortName(long) || len(got) > 64 || !ok) {
			t.Errorf("%s: %d bytes, %v", name, len(got), ok)
		}
		var tenant string
		in := firqgrpc.New(gate.New(1, gate.Config[string]{}), firqgrpc.Config{Tenant: c.way, Observe: func(_ context.Context, _ *firqgrpc.Call, o firqgrpc.Outcome) {
			tenant = o.Tenant
		}})
		_, err := in.Unary(c.ctx, nil, &grpc.UnaryServerInfo{FullMethod: long}, func(context.Context, any) (any, error) { return nil, nil })
		if tenant != firqgrpc.ShortName(long) || err != nil {
			t.Errorf("%s: the gate gets %d bytes, %v", name, len(tenant), err)
		}
	}
}

func TestMetadataPriority(t *testing.T) {
	way := firqgrpc.MetadataPriority("Priority")
	for text, want := range map[string]firq.Priority{
		"very-low": 1, "low": 2, "normal": 3, "high": 4, "very-high": 5, "critical": 6,
		"1": 1, "6": 6, "0": 0, "7": 0, "": 0, "urgent": 0, "default": 0,
	} {
		if got := way(incoming("priority", text), nil); got != want {
			t.Errorf("%q is priority %v, want %v", text, got, want)
		}
	}
	if got := way(context.Background(), nil); got != 0 {
		t.Errorf("nothing is priority %v", got)
	}
}

func TestDeadlineBefore(t *testing.T) {
	end := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(context.Background(), end)
	defer cancel()
	way := firqgrpc.DeadlineBefore(time.Minute)
	if got := way(ctx, nil); !got.Equal(end.Add(-time.Minute)) {
		t.Errorf("a minute before %v is %v", end, got)
	}
	if got := way(context.Background(), nil); !got.IsZero() {
		t.Errorf("no deadline: %v", got)
	}
}

func TestServices(t *testing.T) {
	exempt := firqgrpc.Services("a.B")
	for method, want := range map[string]bool{"/a.B/C": true, "/a.BB/C": false, "/x.a.B/C": false, "a.B": false, "": false} {
		if got := exempt(&firqgrpc.Call{Method: method}); got != want {
			t.Errorf("%q is exempt: %v, want %v", method, got, want)
		}
	}
	for _, method := range []string{
		"/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch",
		"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
		"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
	} {
		if !firqgrpc.Infrastructure(&firqgrpc.Call{Method: method}) {
			t.Errorf("%q is not exempt", method)
		}
	}
	if firqgrpc.Infrastructure(&firqgrpc.Call{Method: do}) {
		t.Errorf("%q is exempt", do)
	}
}

// TestNewPanics: with what Open returns as an error.
func TestNewPanics(t *testing.T) {
	g := gate.New(1, gate.Config[string]{})
	for field, c := range map[string]struct {
		g   gate.Acquirer[string]
		cfg firqgrpc.Config
		err error
	}{
		"gate is nil":    {nil, firqgrpc.Config{}, firq.ErrInvalidArgument},
		"is nil":         {(*gate.Gate[string])(nil), firqgrpc.Config{}, firq.ErrInvalidArgument},
		"Domain":         {g, firqgrpc.Config{Domain: "\xff"}, firq.ErrInvalidConfig},
		"firqgrpc: Dom":  {g, firqgrpc.Config{Domain: "\xff", RetryDelay: -1}, firq.ErrInvalidConfig},
		"firqgrpc: Doma": {g, firqgrpc.Config{Domain: "\xff", RetryDelay: time.Second}, firq.ErrInvalidConfig},
	} {
		if in, err := firqgrpc.Open(c.g, c.cfg); in != nil || !errors.Is(err, c.err) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
		func() {
			defer func() {
				if text, _ := recover().(string); !strings.Contains(text, field) {
					t.Errorf("got %q, want %q", text, field)
				}
			}()
			firqgrpc.New(c.g, c.cfg)
		}()
	}
}
