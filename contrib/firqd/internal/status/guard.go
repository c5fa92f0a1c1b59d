package status

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// guard keeps strangers' pages out, which run in the browser of a visitor of ours. By its name such a page
// may have the browser come here (DNS rebinding): so on the loopback interface the Host has to be localhost, a
// loopback address or one of hosts. A server that others can reach has names that are not known here; it checks
// them if there are hosts.
func guard(exposed bool, hosts []string, pages http.Handler) http.Handler {
	cross := http.NewCrossOriginProtection() // changes come from our own pages, or from no browser
	cross.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "a page of another server asks for this", http.StatusForbidden)
	}))
	inner := cross.Handler(pages)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if (!exposed || len(hosts) > 0) && !known(r.Host, hosts) {
			http.Error(w, fmt.Sprintf("the host is %q: this server answers to localhost, to loopback addresses, and to the names in serve.hosts", r.Host), http.StatusForbidden)
			return
		}
		inner.ServeHTTP(w, r)
	})
}

// policy: nothing from outside, and no script at all.
const policy = "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// known reports whether a Host header, with or without a port, names this machine or is one of hosts.
func known(host string, hosts []string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil { // it has no port
		name = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	if strings.EqualFold(name, "localhost") || slices.ContainsFunc(hosts, func(h string) bool { return strings.EqualFold(h, name) }) {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap().IsLoopback()
}

// secrets are derived from the token. The cookie lets a browser see the forms, and a form's field lets it
// change something: the cookie alone does not, as browsers send it along with what other pages ask for.
type secrets struct{ token, cookie, form string }

func secretsOf(token string) secrets {
	of := func(what string) string {
		m := hmac.New(sha256.New, []byte(token))
		_, _ = m.Write([]byte(what)) // never fails
		return hex.EncodeToString(m.Sum(nil))
	}
	return secrets{token, of("cookie"), of("form")}
}

// same compares in a time that does not depend on where they differ, nor on their lengths.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// sees reports whether a request may see the forms.
func (s *secrets) sees(r *http.Request) bool {
	for _, c := range r.CookiesNamed(cookieName) {
		if same(c.Value, s.cookie) {
			return true
		}
	}
	return false
}

// changes reports whether a request may change something.
func (s *secrets) changes(r *http.Request) bool {
	field := r.PostFormValue("token")
	return same(field, s.token) || same(field, s.form)
}

const cookieName = "firqd"
