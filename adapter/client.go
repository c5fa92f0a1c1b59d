package adapter

import (
	"net/netip"
	"strings"
)

// Client says how the address of a client is found behind proxies, and the tenant that it makes.
type Client struct {
	Trusted        []netip.Prefix // our own proxies
	Forwarded      bool           // they name their client in Forwarded, not in X-Forwarded-For
	V4Bits, V6Bits int            // how much of an address makes a tenant; 0: 32 and 64
}

// Header is the name of the header that Tenant wants to see, in lower case.
func (c *Client) Header() string {
	if c.Forwarded {
		return "forwarded"
	}
	return "x-forwarded-for"
}

// Tenant returns the tenant of a connection from addr. hops are the values of Header; they are
// looked at if addr is trusted, from the right end to the first address that is not: to the left
// of that the client may have written what it likes.
func (c *Client) Tenant(addr netip.Addr, hops func() []string) string {
	if c.trusts(addr) {
		addr = c.behind(addr, strings.Join(hops(), ","))
	}
	bits := c.V4Bits
	switch {
	case addr.Is6() && c.V6Bits == 0:
		bits = 64
	case addr.Is6():
		bits = c.V6Bits
	case bits == 0:
		bits = 32
	}
	prefix, err := addr.Prefix(bits)
	if err != nil || prefix.IsSingleIP() {
		return addr.String()
	}
	return prefix.String()
}

// behind returns the address that came to the proxy addr, or addr if it does not say.
func (c *Client) behind(addr netip.Addr, text string) netip.Addr {
	for more := text != ""; more && c.trusts(addr); {
		var hop string
		text, hop, more = last(text, ',', c.Forwarded)
		if c.Forwarded {
			hop = node(hop)
		}
		next, ok := ParseAddr(strings.TrimSpace(hop))
		if !ok {
			break // it goes by the proxy that let this through
		}
		addr = next
	}
	return addr
}

func (c *Client) trusts(addr netip.Addr) bool {
	for _, p := range c.Trusted {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// last cuts the last element off a list. With quotes a separator in quotes is none; a quote
// that the client has left open, further to the left, closes nothing here.
func last(list string, separator byte, quotes bool) (rest, element string, more bool) {
	quoted := false
	for i := len(list) - 1; i >= 0; i-- {
		switch {
		case list[i] == separator && !quoted:
			return list[:i], list[i+1:], true
		case list[i] == '"' && quotes && !escaped(list, i):
			quoted = !quoted
		}
	}
	return "", list, false
}

// escaped reports whether the byte at i has an odd number of backslashes before it.
func escaped(s string, i int) bool {
	before := strings.TrimRight(s[:i], `\`)
	return (i-len(before))%2 == 1
}

// node returns the address in the parameter "for" of an element of Forwarded (RFC 7239), without
// quotes and port; empty: it has none. (A port may be a word there, and a name is none.)
func node(element string) string {
	for more := true; more; {
		var pair string
		element, pair, more = last(element, ';', true)
		name, value, _ := strings.Cut(pair, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "for") {
			continue
		}
		value = strings.Trim(strings.TrimSpace(value), `"`)
		if inside, ok := strings.CutPrefix(value, "["); ok {
			addr, _, _ := strings.Cut(inside, "]")
			return addr
		}
		addr, _, _ := strings.Cut(value, ":")
		return addr
	}
	return ""
}

// ParseAddr reads an address, with or without a port, [] and zone.
func ParseAddr(s string) (netip.Addr, bool) {
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return ap.Addr().Unmap().WithZone(""), true
	}
	addr, err := netip.ParseAddr(strings.Trim(s, "[]"))
	return addr.Unmap().WithZone(""), err == nil
}
