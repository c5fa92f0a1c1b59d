package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/firq-go/firq/actor"
	"github.com/firq-go/firq/contrib/firqnats"
	"github.com/firq-go/firq/contrib/firqnats/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	patience = 30 * time.Second
	nowhere  = "nats://127.0.0.1:1" // where no server answers
)

func must[V any](v V, err error) func(testing.TB) V {
	return func(t testing.TB) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// bed is a server, and what command lines meet.
type bed struct {
	*testing.T
	ctx    context.Context
	server *embedded.Server
	env    map[string]string
}

func newBed(t *testing.T) *bed {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	t.Cleanup(cancel)
	s := must(embedded.Start(embedded.Options{Port: -1}))(t)
	t.Cleanup(s.Close)
	return &bed{t, ctx, s, map[string]string{"NATS_URL": s.URL()}}
}

// run runs a command line, and returns its exit code and both outputs.
func (b *bed) run(line string) (code int, out, errOut string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	var o, e bytes.Buffer
	p := program{&o, &e, func(name string) string { return b.env[name] }}
	code = p.execute(ctx, strings.Fields(line))
	if ctx.Err() != nil {
		b.Fatalf("%q has not ended within %v\n%s\n%s", line, patience, &o, &e)
	}
	return code, o.String(), e.String()
}

// want runs a command line and returns its output; it has to end with the code, and to write the texts to
// either output.
func (b *bed) want(code int, line string, texts ...string) string {
	b.Helper()
	got, out, errOut := b.run(line)
	if got != code || (errOut != "") != (code != exitOK) {
		b.Errorf("firqcluster %s: exit code %d, want %d\n%s--\n%s", line, got, code, out, errOut)
	}
	for _, text := range texts {
		if !strings.Contains(out+errOut, text) {
			b.Errorf("firqcluster %s: %q is missing in\n%s%s", line, text, out, errOut)
		}
	}
	return out
}

// read runs a command line with --json, and returns what it prints.
func read[V any](b *bed, code int, line string) (v V) {
	b.Helper()
	out := b.want(code, line+" --json")
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		b.Errorf("firqcluster %s --json: %v\n%s", line, err, out)
	}
	return v
}

// join makes a node with the actors of the demo, which places them on itself.
func (b *bed) join(name string) *demoNode {
	b.Helper()
	n := &demoNode{name: name}
	n.nc = must(b.server.Connect())(b)
	log := slog.New(slog.DiscardHandler)
	n.sys = must(actor.New(actor.Config{Logger: log}))(b)
	n.Node = must(firqnats.Join(b.ctx, n.nc, n.sys, firqnats.Options{Name: name, Lease: time.Second, Place: firqnats.Local, Logger: log}))(b)
	b.Cleanup(n.close)
	n.kind = must(firqnats.NewKind(n.Node, "counter", startCounter, demoMethods))(b)
	return n
}

// add adds to an actor from a node.
func (b *bed) add(n *demoNode, key string, by int) {
	b.Helper()
	_ = must(demoAdd.Call(b.ctx, n.kind.Ref(key), by))(b)
}

// eventually waits until f returns true.
func (b *bed) eventually(what string, f func() bool) {
	b.Helper()
	for !f() {
		select {
		case <-b.ctx.Done():
			b.Fatalf("never: %s", what)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Every command has a help with an example.
func TestHelp(t *testing.T) {
	b := &bed{T: t}
	n := 0
	for _, c := range (&program{}).app().Commands {
		n++
		b.want(exitOK, c.Name+" --help", c.Usage, "Example", "firqcluster "+c.Name)
	}
	if n != 7 {
		t.Errorf("%d commands", n)
	}
	b.want(exitOK, "", "firqcluster doctor", "4 doctor found a problem", "NATS_CREDS")
	b.want(exitOK, "--version", "firqcluster version ")
}

// Invalid command lines are reported without a server: there is none here.
func TestUsageErrors(t *testing.T) {
	b := &bed{T: t, env: map[string]string{"NATS_URL": nowhere}}
	for _, c := range []struct{ args, want string }{
		{"rum", `unknown command "rum"; there are nodes, actors`},
		{"--nope", "-nope"},
		{"nodes --nope", "-nope"},
		{"nodes x", `an argument too many: "x"`},
		{"actors x", `an argument too many: "x"`},
		{"where", "where needs a KIND and a KEY"},
		{"where cart", "where needs a KEY after the KIND"},
		{"state cart a b", `an argument too many: "b"`},
		{"drain", "drain needs a NODE"},
		{"doctor x", `an argument too many: "x"`},
		{"demo x", `an argument too many: "x"`},
		{"nodes --timeout 0s", "--timeout: 0s"},
		{"nodes --timeout soon", "timeout"},
		{"nodes --tls-cert x", "--tls-cert and --tls-key"},
	} {
		code, out, errOut := b.run(c.args)
		if code != exitUsage || !strings.Contains(errOut, c.want) || !strings.Contains(errOut, "--help") || out != "" {
			t.Errorf("%s: exit code %d, want %d and %q\n%s\n%s", c.args, code, exitUsage, c.want, out, errOut)
		}
	}
}

// A server that is away is a failure, but not for doctor, which looks for problems.
func TestNoServer(t *testing.T) {
	b := &bed{T: t, env: map[string]string{"NATS_URL": nowhere}}
	for _, line := range []string{"nodes", "actors", "where a b", "state a b", "drain a"} {
		b.want(exitFailed, line, nowhere)
	}
	b.want(exitProblem, "doctor", "problem", nowhere)
	if r := read[report](b, exitProblem, "doctor"); r.OK || len(r.Problems) != 1 || r.Checks[0].Name != "server" {
		t.Errorf("%+v", r)
	}
	b.want(exitFailed, "nodes --creds /no/such/file", "/no/such/file")
}

// A cluster that was not made is not found, and not made.
func TestNoCluster(t *testing.T) {
	b := newBed(t)
	for range 2 {
		b.want(exitNotFound, "nodes --cluster other", `the cluster "other"`)
	}
	b.want(exitProblem, "doctor", `the cluster "default"`)
	b.want(exitUsage, "nodes --cluster a.b", "Cluster", "a.b")
}

func TestShow(t *testing.T) {
	b := newBed(t)
	a := b.join("ash")
	b.join("beech")
	b.add(a, "x", 7)
	b.add(a, "y", 0)

	b.want(exitOK, "nodes", "ash", "beech", "alive", "counter", a.ID())
	b.want(exitOK, "nodes --server "+b.server.URL()+" --cluster default", "ash")
	nodes := read[[]node](b, exitOK, "nodes")
	if len(nodes) != 2 || nodes[0].Name != "ash" || nodes[0].ID != a.ID() || nodes[0].State == "" {
		t.Errorf("%+v", nodes)
	}
	if out := b.want(exitOK, "actors", "KEY", "counter  x", "counter  y", "active", a.ID()); strings.Count(out, "\n") != 3 {
		t.Error(out)
	}
	if list := read[[]firqnats.ActorInfo](b, exitOK, "actors --kind counter"); len(list) != 2 || list[0].Key != "x" || list[0].Node != a.ID() {
		t.Errorf("%+v", list)
	}
	if list := read[[]firqnats.ActorInfo](b, exitOK, "actors --kind other"); list == nil || len(list) != 0 {
		t.Errorf("%+v", list)
	}
	b.want(exitOK, "where counter x", a.ID(), "ash")
	if w := read[map[string]string](b, exitOK, "where counter x"); w["Node"] != a.ID() || w["Name"] != "ash" {
		t.Errorf("%v", w)
	}
	b.want(exitNotFound, "where counter z", "counter/z")
	if out := b.want(exitOK, "state counter x"); out != "7\n" {
		t.Errorf("%q", out)
	}
	if r := read[record](b, exitOK, "state counter x"); string(r.State) != "7" || r.Bytes != nil || r.Node != a.ID() || r.Revision == 0 || r.Written.IsZero() {
		t.Errorf("%+v", r)
	}
	b.want(exitNotFound, "state counter z", "nothing is saved of counter/z")

	put(b, "a.counter.binary", "{\"Saved\":true}\n\x00\x01\x1b[2J")
	put(b, "a.counter.text", "{\"Saved\":true}\n{\"a\":\"\u009b2J\"}")
	b.want(exitOK, "state counter binary", "00000000  00 01 1b 5b", "|...[2J|")
	if r := read[record](b, exitOK, "state counter binary"); string(r.Bytes) != "\x00\x01\x1b[2J" || r.State != nil {
		t.Errorf("%+v", r)
	}
	b.want(exitOK, "state counter text", "{\n  \"a\": \"\ufffd2J\"\n}\n")
}

// put writes a record as it is.
func put(b *bed, key, value string) {
	b.Helper()
	nc := must(b.server.Connect())(b)
	defer nc.Close()
	_ = must(nc.Request("$KV.firq_default."+key, []byte(value), patience))(b)
}

func TestDrain(t *testing.T) {
	b := newBed(t)
	a := b.join("ash")
	other := b.join("beech")
	for _, key := range []string{"x", "y", "z"} {
		b.add(a, key, 1)
	}
	b.want(exitNotFound, "drain oak", `the node "oak"`)
	b.want(exitUsage, "drain ash --within 0s", "--within")
	b.want(exitOK, "drain ash", a.ID(), "hands over 3 actors", "done")
	if n := a.Stats().Activations; n != 0 {
		t.Errorf("%d actors are left", n)
	}
	b.want(exitOK, "nodes", "leaving")
	b.add(a, "x", 1)
	b.want(exitOK, "where counter x", other.ID(), "beech")
	b.join("beech")
	b.want(exitUsage, "drain beech", "several nodes have this name", other.ID())
	if d := read[drain](b, exitOK, "drain "+other.ID()); d.Name != "beech" || d.Activations != 1 || d.Took <= 0 {
		t.Errorf("%+v", d)
	}
}

func check(r report, name, status, text string) bool {
	for _, f := range r.Checks {
		if f.Name == name && f.Status == status && strings.Contains(f.Text, text) {
			return true
		}
	}
	return false
}

func TestDoctor(t *testing.T) {
	b := newBed(t)
	a := b.join("ash")
	b.add(a, "x", 1)
	b.want(exitOK, "doctor", "ok", "lease 1s", "clock")
	r := read[report](b, exitOK, "doctor")
	if !r.OK || len(r.Problems) != 0 || !check(r, "server", "ok", "nats-server 2.") || !check(r, "replicas", "note", "1:") || !check(r, "sync", "note", "--monitor") ||
		!check(r, "leases", "ok", "1 nodes") || !check(r, "nodes", "ok", "1 actors") || !check(r, "records", "ok", "1 actors, 1 with") || !check(r, "orphans", "ok", "") {
		t.Errorf("%+v", r)
	}

	put(b, "a.counter.orphan", "{\"Node\":\"GONE\",\"Activation\":\"GONE/1\"}\n")
	put(b, "a.counter.odd", "{\"Node\":\""+a.ID()+"\",\"Activation\":\"1\"}\n")
	put(b, "n.MUTE", "{\"ID\":\"MUTE\",\"Name\":\"mute\"}")
	b.eventually("the silent node is seen", func() bool {
		r = report{}
		_, out, _ := b.run("doctor --json --timeout 4s")
		return json.Unmarshal([]byte(out), &r) == nil && check(r, "leases", "problem", "mute (MUTE) has not renewed")
	})
	if !check(r, "orphans", "note", "1 records name a node that is gone") || r.OK {
		t.Errorf("%+v", r)
	}
	b.join("oak") // which looks who is there
	b.eventually("the others say that it is dead", func() bool { code, _, _ := b.run("doctor"); return code == exitOK })
	if r := read[report](b, exitOK, "doctor"); !check(r, "orphans", "note", "1 records name a node that does not have the actor") {
		t.Errorf("%+v", r)
	}
	b.want(exitOK, "doctor", "note", "1 records name a node that is gone")
}

// How often the server syncs is on its monitoring port.
func TestDoctorSync(t *testing.T) {
	b := newBed(t)
	b.join("ash")
	for varz, want := range map[string]finding{
		`{"jetstream": {"config": {"sync_interval": 120000000000}}}`:                      {"sync", "note", "each 2m0s"},
		`{"jetstream": {"config": {"sync_interval": 120000000000, "sync_always": true}}}`: {"sync", "ok", "always"},
		`{"jetstream": {}}`: {"sync", "problem", "no JetStream"},
		`<html>`:            {"sync", "problem", "/varz"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/varz" {
				http.NotFound(w, r)
			}
			_, _ = w.Write([]byte(varz))
		}))
		code := exitOK
		if want.Status == "problem" {
			code = exitProblem
		}
		if r := read[report](b, code, "doctor --monitor "+s.URL+"/"); !check(r, want.Name, want.Status, want.Text) {
			t.Errorf("%s: %+v", varz, r)
		}
		s.Close()
		http.DefaultClient.CloseIdleConnections()
	}
}

func TestDoctorServers(t *testing.T) {
	for version, want := range map[string]bool{"2.9.1": true, "2.11.0-RC.1": true, "1.4": true, "2.12.0": false, "2.15.3": false, "3.0": false, "x": false} {
		if old(version) != want {
			t.Errorf("%s is old: %v", version, !want)
		}
	}
	now := time.Now()
	for off, want := range map[time.Duration]string{0: "ok", -time.Second: "ok", 3 * time.Second: "problem", -3 * time.Second: "problem"} {
		r := &report{OK: true}
		clock(r, now.Add(off), now.Add(-time.Millisecond), now.Add(time.Millisecond))
		if !check(*r, "clock", want, "") {
			t.Errorf("off by %v: %+v", off, r)
		}
	}
}

func TestDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 3 s")
	}
	b := &bed{T: t}
	r := read[demoResult](b, exitOK, "demo")
	if r.Acknowledged != 2*demoActors*demoCalls || r.Saved < r.Acknowledged || r.Saved > r.Acknowledged+r.Unknown || r.OnDead == 0 || r.Longest < demoLease/2 {
		t.Errorf("%+v", r)
	}
	var out bytes.Buffer
	printDemo(&out, &r)
	if !strings.Contains(out.String(), "on the node that died") || !strings.Contains(out.String(), "960 calls were acknowledged") {
		t.Error(out.String())
	}
}
