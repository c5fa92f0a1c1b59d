package firqhttp

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"path"
	"strings"

	"github.com/firq-go/firq/adapter"
)

// TenantFunc returns the tenant of a request; false: it finds none. A client that can
// choose the name has as many turns as it invents names: see Known.
type TenantFunc func(*http.Request) (tenant string, ok bool)

// ShortName returns the name by which the middleware, and the functions of this package, call a tenant
// of that name, so that what clients send occupies little memory: of more than 64
// bytes "sha256:" and the first 16 bytes of the SHA-256 in hexadecimal, else the
// name itself.
func ShortName(name string) string { return adapter.ShortName(name) }

// Known asks f, and believes it only if known says that there is such a tenant; else it
// does not know. Requests with names that clients make up then share the turn of the
// next TenantFunc in FirstOf, or of Config.Anonymous, instead of having one each:
//
//	firqhttp.FirstOf(firqhttp.Known(firqhttp.APIKey(), customers.Has), firqhttp.Remote{}.Tenant)
//
// known gets the tenant as f returns it: for APIKey KeyTenant of the key, else
// ShortName of the text. It is called by many goroutines concurrently, for each request,
// and before it has waited: it should look into memory. A nil f or known panics.
func Known(f TenantFunc, known func(tenant string) bool) TenantFunc {
	if f == nil || known == nil {
		panic("firq: firqhttp: Known: f and known must not be nil")
	}
	return func(r *http.Request) (string, bool) {
		if tenant, ok := f(r); ok && known(tenant) {
			return tenant, true
		}
		return "", false
	}
}

// FirstOf calls the functions one after the other, until one finds a tenant.
func FirstOf(fs ...TenantFunc) TenantFunc {
	return func(r *http.Request) (string, bool) {
		for _, f := range fs {
			if tenant, ok := f(r); ok {
				return tenant, true
			}
		}
		return "", false
	}
}

// Header takes the tenant from a header. A client can send any header, and get a turn
// for each value: let a proxy set the header, or see Known. gate.Config.MaxTenants
// bounds how many tenants wait at a time, and with them the memory, but no limit makes
// invented names fair.
func Header(name string) TenantFunc {
	name = http.CanonicalHeaderKey(name)
	return func(r *http.Request) (string, bool) {
		if v := r.Header[name]; len(v) > 0 && v[0] != "" {
			return adapter.ShortName(v[0]), true
		}
		return "", false
	}
}

// APIKey takes the tenant from the key in "Authorization: Bearer KEY", or else in
// "X-API-Key: KEY": its SHA-256, of which the first 16 bytes in hexadecimal. So keys
// neither appear in statistics nor stay in memory; but a key that can be guessed can be
// found from its hash. APIKey does not check the key, so a client that makes up keys
// has a turn for each: see Known.
func APIKey() TenantFunc {
	return func(r *http.Request) (string, bool) {
		key, ok := apiKey(r)
		if !ok {
			return "", false
		}
		return KeyTenant(key), true
	}
}

// KeyTenant is the tenant that APIKey makes of a key. A set of the keys that there
// are (Known) can so be a set of these.
func KeyTenant(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:16])
}

// PlainAPIKey is APIKey with the key itself as the tenant (ShortName).
func PlainAPIKey() TenantFunc {
	return func(r *http.Request) (string, bool) {
		key, ok := apiKey(r)
		return adapter.ShortName(key), ok
	}
}

func apiKey(r *http.Request) (string, bool) {
	if token, ok := bearer(r); ok {
		return token, true
	}
	key := r.Header.Get("X-Api-Key")
	return key, key != ""
}

// bearer returns the token of an Authorization header (RFC 6750).
func bearer(r *http.Request) (string, bool) {
	text := r.Header.Get("Authorization")
	scheme, token, _ := strings.Cut(text, " ")
	token = strings.TrimSpace(token)
	if len(token) <= adapter.MaxName {
		token = adapter.ShortNameIn(text, token) // not with a million blanks around it
	}
	return token, token != "" && strings.EqualFold(scheme, "Bearer")
}

// UnverifiedJWTClaim takes the tenant from a claim of the JSON Web Token (RFC 7519) in
// "Authorization: Bearer TOKEN". It reads the payload and verifies NOTHING, not the
// signature and not the times: use it only behind something that has verified the
// token, such as a proxy or an authenticating middleware around this one. Otherwise a
// client that makes up a token can be any tenant. The claim has to be a string that is
// not empty.
func UnverifiedJWTClaim(claim string) TenantFunc {
	return func(r *http.Request) (string, bool) {
		token, ok := bearer(r)
		if !ok {
			return "", false
		}
		parts := strings.Split(token, ".")
		if len(parts) != 3 {
			return "", false
		}
		payload, err := base64.RawURLEncoding.DecodeString(parts[1])
		if err != nil {
			return "", false
		}
		var claims map[string]json.RawMessage
		if json.Unmarshal(payload, &claims) != nil {
			return "", false
		}
		var tenant string
		if json.Unmarshal(claims[claim], &tenant) != nil {
			return "", false
		}
		return adapter.ShortName(tenant), tenant != ""
	}
}

// PathSegments takes the first n segments of the URL's path: of /acme/orders/7
// with n = 2, "/acme/orders". A path that has fewer is taken whole. It is cleaned
// before, as http.ServeMux does: //acme/x and /./acme/x are /acme/x. /ACME/x is
// another one; where that is not so, and where clients can make up segments, see
// Known. n below 1 panics.
func PathSegments(n int) TenantFunc {
	if n < 1 {
		panic(fmt.Sprintf("firq: firqhttp: PathSegments: n: %d, must be positive", n))
	}
	return func(r *http.Request) (string, bool) {
		name := clean(r.URL.Path)
		for i, rest := 0, strings.TrimPrefix(name, "/"); i < n; i++ {
			_, after, more := strings.Cut(rest, "/")
			if !more {
				return adapter.ShortName(name), name != ""
			}
			rest = after
			if i == n-1 {
				return adapter.ShortNameIn(name, name[:len(name)-len(rest)-1]), true
			}
		}
		return "", false
	}
}

// clean is path.Clean for paths that need it; a slash at the end stays.
func clean(name string) string {
	if !strings.Contains(name, "//") && !strings.Contains(name, "/.") {
		return name
	}
	cleaned := path.Clean(name)
	if strings.HasSuffix(name, "/") && cleaned != "/" {
		cleaned += "/"
	}
	return cleaned
}

// Pattern takes the pattern of http.ServeMux that the request matched, such as
// "GET /orders/{id}". It is known only inside of the ServeMux: wrap the handlers
// that are registered, not the mux.
func Pattern(r *http.Request) (string, bool) { return adapter.ShortName(r.Pattern), r.Pattern != "" }

// Remote takes the client's address as the tenant. The zero value trusts no proxy.
type Remote struct {
	// Trusted are the addresses of our own proxies. If the request comes from one of
	// them, X-Forwarded-For is read from its right end to the first address that is not
	// one of them: the client may have made up everything to the left of it.
	Trusted []netip.Prefix
	// Forwarded says that these proxies write the header Forwarded (RFC 7239) instead, of
	// which the parameter "for" is read likewise. Only one of the two headers is ever
	// believed, because a proxy that writes one may let a client's other one through. A
	// client that a proxy calls unknown, or by an invented name, shares the proxy's turn.
	Forwarded bool
	// V4Bits and V6Bits are how many bits of the address make a tenant, for one
	// client may have many addresses. 0: 32 and 64.
	V4Bits, V6Bits int
}

// Tenant is the TenantFunc.
func (c Remote) Tenant(r *http.Request) (string, bool) {
	addr, ok := adapter.ParseAddr(r.RemoteAddr)
	if !ok {
		return "", false
	}
	client := adapter.Client(c)
	return client.Tenant(addr, func() []string { return r.Header.Values(client.Header()) }), true
}
