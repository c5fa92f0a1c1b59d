package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/firq-go/firq/compute"
	"github.com/firq-go/firq/firqhttp"
	"github.com/firq-go/firq/gate"
)

// header says whose request it is. A real service would take the tenant from its authentication.
const header = "X-Tenant"

// api answers requests.
type api struct {
	reports *compute.Server[string, int, []product]
	known   map[string]bool
}

var errUnknown = errors.New("who are you? Say it in " + header)

// asked reads from a request which report is wanted, and of which tenant.
func (a *api) asked(r *http.Request) (tenant string, last int, err error) {
	if tenant = r.Header.Get(header); !a.known[tenant] {
		return "", 0, errUnknown
	}
	if last, err = strconv.Atoi(r.FormValue("days")); err != nil || last < 1 || last > days {
		return "", 0, fmt.Errorf("days must be 1 to %d", days)
	}
	return tenant, last, nil
}

// refuse answers strangers; JSON answers all other errors.
func refuse(w http.ResponseWriter, _ *http.Request, err error) bool {
	if !errors.Is(err, errUnknown) {
		return false
	}
	http.Error(w, err.Error(), http.StatusForbidden)
	return true
}

// handler puts a gate in front of all requests, so that hits too are answered in turn. The
// gate of the executions is in compute.
func (o options) handler(a *api, g *gate.Gate[string]) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /top", firqhttp.JSON(a.reports, a.asked, firqhttp.JSONConfig{Name: "reports", Error: refuse}))
	front := firqhttp.New(g, firqhttp.Config{
		Tenant: firqhttp.Known(firqhttp.Header(header), func(tenant string) bool { return a.known[tenant] }),
	})
	return front.Handler(mux)
}

func newAPI(s *compute.Server[string, int, []product], tenants int) *api {
	a := &api{reports: s, known: map[string]bool{}}
	for i := range tenants {
		a.known[tenantName(i)] = true
	}
	return a
}

// serve serves until ctx ends, and then finishes the requests that have come by then.
func (o options) serve(ctx context.Context, db *orders) (err error) {
	s, err := o.open(db, o.ttl)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	// More requests than executions: most are hits, or wait for a slot.
	g, err := gate.Open(32*o.slots, gate.Config[string]{MaxPerTenant: 200, MaxQueueAge: time.Second})
	if err != nil {
		return err
	}
	defer func() { _ = g.Close() }()
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: o.handler(newAPI(s, o.tenants), g), ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	_, _ = fmt.Fprintf(os.Stderr, "serving http://%s/top?days=30, tenants %s to %s in the header %s\n", l.Addr(), tenantName(0), tenantName(o.tenants-1), header)
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	patience, stop := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer stop()
	err = firstOf(server.Shutdown(patience), s.Shutdown(patience))
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = firstOf(err, served)
	}
	return err
}
