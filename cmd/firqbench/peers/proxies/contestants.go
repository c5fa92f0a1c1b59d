package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/firq-go/firq/cmd/firqbench/internal/report"
)

// contestant is a proxy.
type contestant struct {
	name, about string
	needs       []string // programs
	command     func(b *bench, j job) (files map[string]string, args []string)
}

// job is what a proxy is configured for.
type job struct {
	listen, service string // addresses
	redis           string // its address
	slots           int    // requests that the service does well at a time
	perSecond       int    // how many a tenant may have, where a proxy limits that
}

var contestants = []contestant{
	{"firqproxy", "contrib/firqproxy, slots of this process", []string{"go"}, func(b *bench, j job) (map[string]string, []string) { return firqproxy(b, j, "") }},
	{"firqproxy-fleet", "the same, slots of a fleet of one on Redis", []string{"go", "redis-server"}, func(b *bench, j job) (map[string]string, []string) {
		return firqproxy(b, j, "fleet: {redis: \"redis://"+j.redis+"/0\", name: bench}\n")
	}},
	{"reverseproxy", "httputil.ReverseProxy, no limit", nil, func(b *bench, j job) (map[string]string, []string) {
		return nil, []string{b.self, serveCommand, "proxy", j.listen, j.service}
	}},
	{"nginx", "no limit", []string{"nginx"}, func(b *bench, j job) (map[string]string, []string) { return nginx(b, j, "", "") }},
	{"nginx-conn", "limit_conn: half of the slots for a tenant, others get 429", []string{"nginx"}, func(b *bench, j job) (map[string]string, []string) {
		return nginx(b, j, "limit_conn_zone $http_x_tenant zone=t:1m; limit_conn_status 429;", fmt.Sprintf("limit_conn t %d;", j.slots/2))
	}},
	{"nginx-req", "limit_req: half of what the service can for a tenant, its requests are delayed", []string{"nginx"}, func(b *bench, j job) (map[string]string, []string) {
		return nginx(b, j, fmt.Sprintf("limit_req_zone $http_x_tenant zone=t:1m rate=%dr/s; limit_req_status 429;", j.perSecond), "limit_req zone=t burst=1000;")
	}},
	{"haproxy", "maxconn: as many as slots, the others wait, first come, first served", []string{"haproxy"}, func(b *bench, j job) (map[string]string, []string) { return haproxy(b, j, "") }},
	{"haproxy-priority", "the same, and tenants with more requests than slots wait behind others", []string{"haproxy"}, func(b *bench, j job) (map[string]string, []string) {
		return haproxy(b, j, fmt.Sprintf("  stick-table type string len 64 size 100k expire 1m store conn_cur\n  http-request track-sc0 req.hdr(X-Tenant)\n"+
			"  http-request set-priority-class int(10) if { sc0_conn_cur gt %d }\n", j.slots))
	}},
}

func firqproxy(b *bench, j job, fleet string) (files map[string]string, args []string) {
	text := "listen: " + j.listen + "\nupstream: http://" + j.service + "\ntenant: [{header: X-Tenant}]\nlimits: {slots: " + fmt.Sprint(j.slots) + "}\n" + fleet
	return map[string]string{"firqproxy.yaml": text}, []string{filepath.Join(b.bin, "firqproxy"), "run", "-c", "firqproxy.yaml"}
}

// nginx as its documentation has it: connections to the service are kept, no log of each request.
func nginx(b *bench, j job, zone, limit string) (files map[string]string, args []string) {
	text := `daemon off; pid nginx.pid; error_log stderr crit; worker_processes auto;
events { worker_connections 4096; }
http {
  access_log off; keepalive_requests 10000000;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  ` + zone + `
  upstream service { server ` + j.service + `; keepalive 256; keepalive_requests 10000000; }
  server {
    listen ` + j.listen + ` reuseport backlog=1024;
    location / {
      ` + limit + `
      proxy_pass http://service; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_set_header Host $http_host; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    }
  }
}
`
	return map[string]string{"nginx.conf": text}, []string{"nginx", "-p", b.dir, "-c", filepath.Join(b.dir, "nginx.conf")}
}

func haproxy(_ *bench, j job, front string) (files map[string]string, args []string) {
	text := `global
  maxconn 4000
defaults
  mode http
  option forwardfor
  timeout connect 5s
  timeout client 1m
  timeout server 1m
  timeout queue 1m
frontend clients
  bind ` + j.listen + ` backlog 1024
` + front + `  default_backend service
backend service
  server one ` + j.service + ` maxconn ` + fmt.Sprint(j.slots) + "\n"
	return map[string]string{"haproxy.cfg": text}, []string{"haproxy", "-db", "-f", "haproxy.cfg"}
}

// prepare returns those contestants whose programs are there, and says what is skipped. It builds firqproxy.
func prepare(ctx context.Context, f *file, all []contestant, dir string, stderr io.Writer) (there []contestant, err error) {
	if _, err := exec.LookPath("wrk"); err != nil {
		return nil, fmt.Errorf("wrk makes the load, and is not installed (apt-get install wrk): %w", err)
	}
	for _, c := range all {
		missing := ""
		for _, name := range c.needs {
			if _, err := exec.LookPath(name); err != nil {
				missing = name
			} else if f.Programs[name] == "" {
				f.Programs[name] = version(ctx, name)
			}
		}
		if missing != "" {
			f.Skipped[c.name] = missing + " is not installed"
			report.Printf(stderr, "skipped: %s: %s\n", c.name, f.Skipped[c.name])
			continue
		}
		there = append(there, c)
	}
	if f.Programs["go"] != "" {
		cmd := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(dir, "firqproxy"), "github.com/firq-go/firq/contrib/firqproxy/cmd/firqproxy")
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go build firqproxy: %w: %s", err, out)
		}
	}
	return there, nil
}

// version returns the first line that a program says about itself.
func version(ctx context.Context, name string) string {
	arg := map[string]string{"go": "version", "redis-server": "--version"}[name]
	if arg == "" {
		arg = "-v"
	}
	out, _ := exec.CommandContext(ctx, name, arg).CombinedOutput() //nolint:gosec // names of ours
	line, _, _ := bytes.Cut(out, []byte("\n"))
	return strings.TrimSpace(string(line))
}
