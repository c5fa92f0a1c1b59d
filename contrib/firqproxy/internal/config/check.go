package config

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/firq-go/firq/contrib/firqfleet"
	"github.com/firq-go/firq/firqhttp"
	"github.com/firq-go/firq/gate"
	"github.com/firq-go/firq/rate"
)

// Defaults.
const (
	DefaultListen = "127.0.0.1:8080"
	DefaultDrain  = 30 * time.Second
)

// check fills in the defaults, reads the files that c names, and adds what makes no sense.
func (c *Config) check(ms *Mistakes, dir string, lookup func(string) (string, bool)) {
	if c.Listen == "" {
		c.Listen = DefaultListen
	}
	checkAddress(ms, "listen", c.Listen)
	if c.Admin != "" {
		checkAddress(ms, "admin", c.Admin)
		if _, port, _ := net.SplitHostPort(c.Admin); c.Admin == c.Listen && port != "0" {
			ms.add("admin", "%q, is listen's", c.Admin)
		}
	}
	c.checkUpstream(ms)
	for i := range c.Tenant {
		c.Tenant[i].check(ms, fmt.Sprintf("tenant[%d]", i), dir)
	}
	for i, p := range c.Skip {
		if !strings.HasPrefix(p, "/") {
			ms.add(fmt.Sprintf("skip[%d]", i), "%q, must be a path, which begins with /", p)
		} else if strings.ContainsAny(p, "*?") {
			ms.add(fmt.Sprintf("skip[%d]", i), "%q, must be a whole path: nothing stands for others", p)
		}
	}
	c.Proxies = prefixes(ms, "trusted", c.Trusted)
	c.Limits.check(ms)
	checkRate(ms, "rate", c.Rate.Limit())
	notNegative(ms, "rate.wait", c.Rate.Wait)
	for _, name := range slices.Sorted(maps.Keys(c.Tenants)) {
		c.Tenants[name].check(ms, "tenants."+name)
	}
	c.Cost.check(ms)
	if c.Fleet != nil {
		c.Fleet.check(ms, lookup)
	}
	notNegative(ms, "drain", c.Drain)
	if c.Drain == 0 {
		c.Drain = DefaultDrain
	}
	c.scale = c.quantum()
}

func checkAddress(ms *Mistakes, field, addr string) {
	if _, port, err := net.SplitHostPort(addr); err != nil || port == "" {
		ms.add(field, "%q, must be host:port", addr)
	} else if !isPort(port) {
		ms.add(field, "%q, is no port", port)
	}
}

func isPort(port string) bool {
	_, err := net.LookupPort("tcp", port)
	return err == nil
}

func (c *Config) checkUpstream(ms *Mistakes) {
	u, err := url.Parse(c.Upstream)
	switch {
	case c.Upstream == "":
		ms.add("upstream", "is missing: the URL of the service, such as http://127.0.0.1:9000")
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		ms.add("upstream", "%q, must be a URL such as http://127.0.0.1:9000", c.Upstream)
	case u.Port() != "" && !isPort(u.Port()):
		ms.add("upstream", "%q, is no port", u.Port())
	case u.Host == c.Listen:
		ms.add("upstream", "%q, is listen's: requests would go round in circles", c.Upstream)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		ms.add("upstream", "must have no user, query or fragment")
	}
	c.URL = u
}

func (s *Source) check(ms *Mistakes, field, dir string) {
	n := 0
	for _, is := range []bool{s.APIKey != nil, s.Header != "", s.JWTClaim != "", s.PathSegments != 0, s.Remote != nil} {
		if is {
			n++
		}
	}
	if n != 1 {
		ms.add(field, "has %d of api_key, header, jwt_claim, path_segments, remote, must have one", n)
	}
	if s.PathSegments < 0 {
		ms.add(field+".path_segments", "%d, must be at least 1", s.PathSegments)
	}
	if s.Header != "" && !isToken(s.Header) {
		ms.add(field+".header", "%q, is no name of a header", s.Header)
	}
	if s.APIKey != nil {
		s.APIKey.check(ms, field+".api_key.keys_file", dir)
	}
	if s.Remote != nil {
		s.Remote.Prefixes = prefixes(ms, field+".remote.trusted", s.Remote.Trusted)
	}
}

func prefixes(ms *Mistakes, field string, list []string) (all []netip.Prefix) {
	for i, text := range list {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			ms.add(fmt.Sprintf("%s[%d]", field, i), "%q, must be addresses such as 10.0.0.0/8", text)
		}
		all = append(all, p)
	}
	return all
}

// check reads the keys: one in a line; empty lines, and those that begin with #, do not count.
func (k *APIKey) check(ms *Mistakes, field, dir string) {
	if k.KeysFile == "" {
		ms.add(field, "is missing: without it clients could invent keys")
		return
	}
	path := k.KeysFile
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	f, err := os.Open(path)
	if err != nil {
		ms.add(field, "%v", err)
		return
	}
	defer func() { _ = f.Close() }()
	k.Known = map[string]bool{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if key := strings.TrimSpace(lines.Text()); key != "" && key[0] != '#' {
			k.Known[firqhttp.KeyTenant(key)] = true
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		ms.add(field, "%s: a line has more than 64 KiB", path)
	case err != nil:
		ms.add(field, "%v", err)
	case len(k.Known) == 0:
		ms.add(field, "%s: has no key", path)
	}
}

func (l *Limits) check(ms *Mistakes) {
	if l.Slots < 1 || l.Slots > gate.MaxSlots {
		ms.add("limits.slots", "%d, must be 1 to %d: how many requests the service serves at a time", l.Slots, gate.MaxSlots)
	}
	if l.Waiting > gate.MaxSlots {
		ms.add("limits.waiting", "%d, must be at most %d", l.Waiting, gate.MaxSlots)
	}
	notNegative(ms, "limits.waiting", l.Waiting)
	notNegative(ms, "limits.waiting_per_tenant", l.WaitingPerTenant)
	notNegative(ms, "limits.in_flight_per_tenant", l.InFlightPerTenant)
	notNegative(ms, "limits.max_wait", l.MaxWait)
}

func (t Tenant) check(ms *Mistakes, field string) {
	if t.Weight != 0 && !(t.Weight >= 0.001 && t.Weight <= 1e6) { // NaN is neither
		ms.add(field+".weight", "%v, must be from 0.001 to 1e6", t.Weight)
	}
	notNegative(ms, field+".in_flight", t.InFlight)
	if t.Rate != nil {
		checkRate(ms, field+".rate", t.Rate.Limit())
	}
}

// checkRate lets package rate check.
func checkRate(ms *Mistakes, field string, l rate.Limit) {
	if _, err := l.Resolve(); err == nil {
		return
	}
	if _, err := (rate.Limit{PerSecond: l.PerSecond}).Resolve(); err != nil {
		ms.add(field+".per_second", "%v, must be 0, or from 1e-6 to 1e12", l.PerSecond)
	}
	if l.Burst < 0 {
		ms.add(field+".burst", "%d, must not be negative", l.Burst)
	} else if l.Burst > 0 && l.PerSecond == 0 {
		ms.add(field+".burst", "%d, without per_second", l.Burst)
	}
}

func (c *Cost) check(ms *Mistakes) {
	notNegative(ms, "cost.default", c.Default)
	if c.Header != "" && !isToken(c.Header) {
		ms.add("cost.header", "%q, is no name of a header", c.Header)
	}
	name, isHeader := strings.CutPrefix(c.Response, "header:")
	switch {
	case isHeader && !isToken(name):
		ms.add("cost.response", "%q, is no name of a header", name)
	case !isHeader && c.Response != "" && c.Response != "openai":
		ms.add("cost.response", "%q, must be openai, or header:NAME", c.Response)
	}
}

var variable = regexp.MustCompile(`\$\{([^}]*)\}`)

// check never quotes the URL: it may have a password.
func (f *Fleet) check(ms *Mistakes, lookup func(string) (string, bool)) {
	text := variable.ReplaceAllStringFunc(f.Redis, func(name string) string {
		value, ok := lookup(name[2 : len(name)-1])
		if !ok {
			ms.add("fleet.redis", "%s is not set in the environment", name)
		}
		return value
	})
	var err error
	if f.Client, err = parseServer(text); err != nil {
		ms.add("fleet.redis", "must be a URL such as redis://127.0.0.1:6379/0; of a cluster redis://HOST:PORT,HOST:PORT; of Sentinels redis://HOST:PORT,HOST:PORT/0?master_name=NAME")
		return
	}
	if f.Name == "" {
		f.Name = firqfleet.DefaultName
	}
	if len(f.Name) > firqfleet.MaxName || strings.ContainsAny(f.Name, "{}\r\n") {
		ms.add("fleet.name", "%q, must have up to %d bytes, and neither braces nor line breaks", f.Name, firqfleet.MaxName)
	}
	if f.Lease != 0 && f.Lease < firqfleet.MinLease {
		ms.add("fleet.lease", "%v, must be at least %v", f.Lease, firqfleet.MinLease)
	}
	down, ok := map[string]firqfleet.Down{"": firqfleet.Wait, "wait": firqfleet.Wait, "share": firqfleet.Share, "refuse": firqfleet.Refuse}[f.WhenDown]
	if !ok {
		ms.add("fleet.when_down", "%q, must be wait, share or refuse", f.WhenDown)
	}
	f.Down = down
}

func notNegative[T int | int64 | time.Duration](ms *Mistakes, field string, n T) {
	if n < 0 {
		ms.add(field, "%v, must not be negative", n)
	}
}

// isToken reports whether a header can have this name (RFC 9110).
func isToken(s string) bool {
	for _, c := range s {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", c) {
			return false
		}
	}
	return s != ""
}
