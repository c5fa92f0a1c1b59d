package main

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/firq-go/firq/actor"
)

// page lists the actors that are there: what each of them does, and for how long.
var page = template.Must(template.New("").Parse(`<!doctype html><meta charset="utf-8"><title>actors</title>
<style>body{font-family:sans-serif}td,th{padding:0 1em;text-align:left}</style>
<table><tr><th>name<th>kind<th>life<th>waiting<th>handler<th>for</tr>
{{range .}}<tr><td>{{.Name}}<td>{{.Kind}}<td>{{.Life}}<td>{{.Waiting}}<td>{{.Method}}<td>{{if .Method}}{{.Elapsed}}{{end}}</tr>
{{end}}</table>
`))

// most is how many actors a page shows: those with the most messages that wait.
const most = 1000

func actors(sys *actor.System) []actor.Info {
	return slices.SortedFunc(sys.Actors(), func(x, y actor.Info) int {
		return cmp.Or(cmp.Compare(y.Waiting, x.Waiting), cmp.Compare(x.Name, y.Name))
	})
}

func (l *limiter) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		all := actors(l.sys)
		_ = page.Execute(w, all[:min(len(all), most)])
	})
	mux.HandleFunc("GET /allow", func(w http.ResponseWriter, r *http.Request) {
		switch yes, err := l.allow(r.Context(), r.FormValue("user")); {
		case err != nil:
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		case !yes:
			http.Error(w, "too many requests", http.StatusTooManyRequests)
		default:
			_, _ = io.WriteString(w, "allowed\n")
		}
	})
	return mux
}

// serve serves until ctx ends.
func (l limits) serve(ctx context.Context, addr string, w io.Writer) error {
	lim, err := l.limiter()
	if err != nil {
		return err
	}
	defer func() { _ = lim.sys.Close() }()
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: lim.handler(), ReadHeaderTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if _, err := fmt.Fprintf(w, "listening on http://%s\n", listener.Addr()); err != nil {
		return err
	}
	if err := server.Serve(listener); ctx.Err() == nil {
		return err
	}
	return nil
}
