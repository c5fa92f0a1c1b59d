package adapter

import (
	"net/netip"
	"testing"
)

var ours = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}

func TestTenant(t *testing.T) {
	for _, c := range []struct {
		addr      string
		hops      []string
		forwarded bool
		want      string
	}{
		{"203.0.113.9", []string{"198.51.100.7"}, false, "203.0.113.9"},
		{"10.0.0.1", nil, false, "10.0.0.1"},
		{"10.0.0.1", []string{""}, false, "10.0.0.1"},
		{"10.0.0.1", []string{"198.51.100.7"}, false, "198.51.100.7"},
		{"10.0.0.1", []string{"192.0.2.1, 198.51.100.7, 10.0.0.2"}, false, "198.51.100.7"},
		{"10.0.0.1", []string{"192.0.2.1", "198.51.100.7:443", " 10.0.0.2 "}, false, "198.51.100.7"},
		{"10.0.0.1", []string{"192.0.2.1, nonsense, 10.0.0.2"}, false, "10.0.0.2"},
		{"10.0.0.1", []string{"2001:db8:1:2:3::4"}, false, "2001:db8:1:2::/64"},
		{"fd00::1", []string{"[2001:db8:1:2:3::4]:99"}, false, "2001:db8:1:2::/64"},
		{"10.0.0.1", []string{"for=198.51.100.7"}, false, "10.0.0.1"},

		{"203.0.113.9", []string{"for=198.51.100.7"}, true, "203.0.113.9"},
		{"10.0.0.1", nil, true, "10.0.0.1"},
		{"10.0.0.1", []string{"198.51.100.7"}, true, "10.0.0.1"},
		{"10.0.0.1", []string{"for=198.51.100.7"}, true, "198.51.100.7"},
		{"10.0.0.1", []string{`For="198.51.100.7:4711"`}, true, "198.51.100.7"},
		{"10.0.0.1", []string{`for="198.51.100.7:_port"; proto=http;by=10.0.0.1`}, true, "198.51.100.7"},
		{"10.0.0.1", []string{`proto=https;host="a,b;for=1.1.1.1";for="[2001:db8:1:2:3::4]:_x"`}, true, "2001:db8:1:2::/64"},
		{"10.0.0.1", []string{"for=192.0.2.1, for=198.51.100.7;by=10.0.0.3 , for=10.0.0.2"}, true, "198.51.100.7"},
		{"10.0.0.1", []string{"for=192.0.2.1", "for=198.51.100.7", "for=10.0.0.2"}, true, "198.51.100.7"},
		{"10.0.0.1", []string{"for=192.0.2.1, for=unknown, for=10.0.0.2"}, true, "10.0.0.2"},
		{"10.0.0.1", []string{"for=192.0.2.1, for=_hidden"}, true, "10.0.0.1"},
		{"10.0.0.1", []string{"for=192.0.2.1, proto=http"}, true, "10.0.0.1"},
		// What a client writes in order to pass for another client.
		{"10.0.0.1", []string{`for=192.0.2.1;by="`, "for=198.51.100.7"}, true, "198.51.100.7"},
		{"10.0.0.1", []string{`for="192.0.2.1, for=198.51.100.7`}, true, "198.51.100.7"},
		{"10.0.0.1", []string{`for=192.0.2.1;by="\`, `for=198.51.100.7;host="x\"y"`}, true, "198.51.100.7"},
		{"10.0.0.1", []string{`",for=192.0.2.1`, `for=198.51.100.7`}, true, "198.51.100.7"},
	} {
		client := Client{Trusted: ours, Forwarded: c.forwarded}
		if got := client.Tenant(netip.MustParseAddr(c.addr), func() []string { return c.hops }); got != c.want {
			t.Errorf("%s, %q: %s, want %s", c.addr, c.hops, got, c.want)
		}
	}
}

// Whatever a client writes, what our proxy has appended decides.
func FuzzForwarded(f *testing.F) {
	for _, seed := range []string{"", `"`, `\`, `for="`, `for=10.0.0.2`, `for="\"`, ",", ";", `"\\`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, lie string) {
		client := Client{Trusted: ours, Forwarded: true}
		for _, entry := range []string{"for=198.51.100.7", `for="198.51.100.7:1";host="a,\"b"`} {
			hops := func() []string { return []string{lie, entry} }
			if got := client.Tenant(ours[0].Addr().Next(), hops); got != "198.51.100.7" {
				t.Fatalf("%q: %s", lie, got)
			}
		}
	})
}
