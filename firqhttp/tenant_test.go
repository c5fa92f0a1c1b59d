package firqhttp

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"
)

func TestTenants(t *testing.T) {
	token := func(payload string) string {
		return "Bearer x." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".x"
	}
	jwt := UnverifiedJWTClaim("tenant")
	for name, c := range map[string]struct {
		f             TenantFunc
		header, value string
		want          string // "": it does not know
	}{
		"header":               {Header("x-tenant"), "X-Tenant", "acme", "acme"},
		"no header":            {Header("x-tenant"), "X-Other", "acme", ""},
		"key, bearer":          {PlainAPIKey(), "Authorization", "bearer  k1", "k1"},
		"key, header":          {PlainAPIKey(), "X-API-Key", "k1", "k1"},
		"key, basic":           {PlainAPIKey(), "Authorization", "Basic k1", ""},
		"key, empty":           {PlainAPIKey(), "Authorization", "Bearer ", ""},
		"key, hashed":          {APIKey(), "X-API-Key", "k1", "6ab9f1eb8f7d3388f4f9d586f66e99fd"},
		"key, hashed, none":    {APIKey(), "X-Other", "k1", ""},
		"claim":                {jwt, "Authorization", token(`{"sub":1,"tenant":"acme"}`), "acme"},
		"claim, not a string":  {jwt, "Authorization", token(`{"tenant":5}`), ""},
		"claim, null":          {jwt, "Authorization", token(`{"tenant":null}`), ""},
		"claim, none":          {jwt, "Authorization", token(`{}`), ""},
		"claim, no object":     {jwt, "Authorization", token(`[1]`), ""},
		"claim, no token":      {jwt, "Authorization", "Bearer a.b", ""},
		"claim, no base64":     {jwt, "Authorization", "Bearer a.%.c", ""},
		"first of, the second": {FirstOf(Header("X-Tenant"), PlainAPIKey()), "X-API-Key", "k", "k"},
		"first of, none":       {FirstOf(Header("X-Tenant"), PlainAPIKey()), "X-Other", "k", ""},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set(c.header, c.value)
		if got, ok := c.f(r); got != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, %t; want %q", name, got, ok, c.want)
		}
	}
}

func TestRemote(t *testing.T) {
	trusted := Remote{Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}}
	for name, c := range map[string]struct {
		remote Remote
		from   string
		xff    []string
		want   string
	}{
		"v4":                        {Remote{}, "1.2.3.4:5", nil, "1.2.3.4"},
		"v4 in v6":                  {Remote{}, "[::ffff:1.2.3.4]:5", nil, "1.2.3.4"},
		"v6":                        {Remote{}, "[2001:db8:1:2:3::4]:5", nil, "2001:db8:1:2::/64"},
		"v6, zone":                  {Remote{V6Bits: 128}, "[fe80::1%eth0]:5", nil, "fe80::1"},
		"v4, network":               {Remote{V4Bits: 24}, "1.2.3.4:5", nil, "1.2.3.0/24"},
		"nobody is trusted":         {Remote{}, "10.0.0.1:5", []string{"9.9.9.9"}, "10.0.0.1"},
		"the client invents one":    {trusted, "10.0.0.1:5", []string{"8.8.8.8, 9.9.9.9"}, "9.9.9.9"},
		"two proxies":               {trusted, "10.0.0.1:5", []string{"8.8.8.8, 9.9.9.9", "10.0.0.2"}, "9.9.9.9"},
		"with a port":               {trusted, "10.0.0.1:5", []string{"9.9.9.9:77"}, "9.9.9.9"},
		"v6 in brackets":            {trusted, "[fd00::1]:5", []string{"[2001:db8::1]"}, "2001:db8::/64"},
		"not from a proxy":          {trusted, "9.9.9.9:5", []string{"8.8.8.8"}, "9.9.9.9"},
		"only proxies":              {trusted, "10.0.0.1:5", []string{"10.0.0.3"}, "10.0.0.3"},
		"nonsense":                  {trusted, "10.0.0.1:5", []string{"8.8.8.8, unknown"}, "10.0.0.1"},
		"no forwarded":              {trusted, "10.0.0.1:5", nil, "10.0.0.1"},
		"a socket":                  {trusted, "@", nil, ""},
		"more bits than there are":  {Remote{V4Bits: 99}, "1.2.3.4:5", nil, "1.2.3.4"},
		"without a port, from test": {Remote{}, "1.2.3.4", nil, "1.2.3.4"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.from
		for _, v := range c.xff {
			r.Header.Add("X-Forwarded-For", v)
		}
		if got, ok := c.remote.Tenant(r); got != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, %t; want %q", name, got, ok, c.want)
		}
	}
}

// Remote believes the chosen one of the two headers, and ignores the other.
func TestRemoteForwarded(t *testing.T) {
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = "10.0.0.1:5"
	r.Header.Set("X-Forwarded-For", "8.8.8.8")
	r.Header.Add("Forwarded", `for="[2001:db8::1]:_x";proto=https`)
	r.Header.Add("Forwarded", "for=10.0.0.2")
	trusted := Remote{Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	for forwarded, want := range map[bool]string{false: "8.8.8.8", true: "2001:db8::/64"} {
		trusted.Forwarded = forwarded
		if got, ok := trusted.Tenant(r); got != want || !ok {
			t.Errorf("Forwarded %t: %q, %t; want %q", forwarded, got, ok, want)
		}
	}
}

func TestPaths(t *testing.T) {
	for _, c := range []struct {
		path string
		n    int
		want string
	}{
		{"/acme/orders/7", 1, "/acme"}, {"/acme/orders/7", 2, "/acme/orders"}, {"/acme/orders/7", 3, "/acme/orders/7"},
		{"/acme/orders/7", 4, "/acme/orders/7"}, {"/", 1, "/"}, {"/acme/", 1, "/acme"}, {"//x", 1, "/x"},
		{"//acme/x", 1, "/acme"}, {"/./acme/x", 1, "/acme"}, {"/b/../acme/x", 2, "/acme/x"}, {"//acme//", 1, "/acme"}, {"/..", 1, "/"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.URL.Path = c.path
		if got, ok := PathSegments(c.n)(r); got != c.want || !ok {
			t.Errorf("%d of %s: %q, %t", c.n, c.path, got, ok)
		}
	}
	var got string
	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders/{id}", func(_ http.ResponseWriter, r *http.Request) { got, _ = Pattern(r) })
	mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/orders/7", nil))
	if got != "GET /orders/{id}" {
		t.Errorf("pattern %q", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("PathSegments(0) does not panic")
		}
	}()
	PathSegments(0)
}

func TestDeadlines(t *testing.T) {
	const never = -1
	x, grpc := TimeoutHeader("X-Request-Timeout"), GRPCTimeout()
	for _, c := range []struct {
		f             DeadlineFunc
		header, value string
		want          time.Duration // never: none; 0 with bad: an error
		bad           bool
	}{
		{x, "X-Request-Timeout", "2.5", 2500 * time.Millisecond, false},
		{x, "X-Request-Timeout", "100ms", 100 * time.Millisecond, false},
		{x, "X-Request-Timeout", "100m", 100 * time.Minute, false},
		{x, "X-Request-Timeout", "0", 0, false},
		{x, "X-Request-Timeout", "1e300", 100 * 365 * 24 * time.Hour, false},
		{x, "X-Request-Timeout", "-1", 0, true},
		{x, "X-Request-Timeout", "-1s", 0, true},
		{x, "X-Request-Timeout", "NaN", 0, true},
		{x, "X-Request-Timeout", "soon", 0, true},
		{x, "X-Other", "1", never, false},
		{grpc, "grpc-timeout", "100m", 100 * time.Millisecond, false},
		{grpc, "grpc-timeout", "5S", 5 * time.Second, false},
		{grpc, "grpc-timeout", "3u", 3 * time.Microsecond, false},
		{grpc, "grpc-timeout", "99999999H", 100 * 365 * 24 * time.Hour, false},
		{grpc, "grpc-timeout", "123456789S", 0, true},
		{grpc, "grpc-timeout", "S", 0, true},
		{grpc, "grpc-timeout", "5", 0, true},
		{grpc, "grpc-timeout", "-5S", 0, true},
		{grpc, "X-Other", "5S", never, false},
		{Earliest(x, grpc), "grpc-timeout", "1S", time.Second, false},
		{Earliest(x, grpc), "grpc-timeout", "1x", 0, true},
		{Earliest(x, grpc), "X-Other", "1S", never, false},
		{Earliest(func(*http.Request) (time.Time, error) { return time.Now().Add(time.Hour), nil }, grpc), "grpc-timeout", "1S", time.Second, false},
		{Earliest(func(*http.Request) (time.Time, error) { return time.Now().Add(time.Minute), nil }, grpc), "grpc-timeout", "1H", time.Minute, false},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set(c.header, c.value)
		before := time.Now()
		d, err := c.f(r)
		after := time.Now()
		switch {
		case (err != nil) != c.bad:
			t.Errorf("%s %s: %v", c.header, c.value, err)
		case c.bad || c.want == never:
			if !d.IsZero() {
				t.Errorf("%s %s: %v, want none", c.header, c.value, d)
			}
		case d.Before(before.Add(c.want)) || d.After(after.Add(c.want)):
			t.Errorf("%s %s: in %v, want %v", c.header, c.value, d.Sub(before), c.want)
		}
	}
}
