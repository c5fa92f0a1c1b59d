package serve

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// guard refuses with 403 what a stranger's web page makes the browser of a user
// on this machine ask for: a page can be read through a name that its owner points
// at 127.0.0.1 (DNS rebinding), and a profile can be started by the address of a
// picture.
//
// With local, what asks has to call the server localhost or a loopback address.
// A server that others are to reach has names that are not known here.
//
// Where the browser says what site asks (Sec-Fetch-Site), that has to be this
// server, or none: an address that was typed, or a bookmark. A page on another
// port of localhost is "same-site", and refused as well: the pages here ask only
// their own server, and what else runs on the machine may show pages of strangers.
func guard(local bool, pages http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", FrameAncestors) // the pages say more
		if local && !namesLoopback(r.Host) {
			http.Error(w, fmt.Sprintf("the host is %q: a server on the loopback interface answers to localhost and to loopback addresses only", r.Host), http.StatusForbidden)
			return
		}
		switch site := r.Header.Get("Sec-Fetch-Site"); site {
		case "", "none", "same-origin":
			pages.ServeHTTP(w, r)
		default:
			http.Error(w, fmt.Sprintf("a page of another server asks (Sec-Fetch-Site: %q); type the address instead of following a link", site), http.StatusForbidden)
		}
	})
}

// FrameAncestors is the part of a Content-Security-Policy that keeps a page out of
// frames of other pages; default-src does not.
const FrameAncestors = "frame-ancestors 'none'"

// namesLoopback reports whether a Host header, with or without a port, names the
// machine that it is sent on.
func namesLoopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil { // it has no port
		name = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	if strings.EqualFold(name, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap().IsLoopback()
}
