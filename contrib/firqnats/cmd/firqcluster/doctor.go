package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/contrib/firqnats"
)

// finding is one row of doctor's report.
type finding struct {
	Name   string
	Status string // ok, note or problem
	Text   string
}

// report is what doctor found.
type report struct {
	OK       bool
	Problems []string
	Checks   []finding
}

func (r *report) add(name, status, format string, args ...any) {
	f := finding{name, status, fmt.Sprintf(format, args...)}
	r.Checks = append(r.Checks, f)
	if status == "problem" {
		r.OK = false
		r.Problems = append(r.Problems, f.Name+": "+f.Text)
	}
}

func (p *program) doctorCommand() *cli.Command {
	return &cli.Command{
		Name:  "doctor",
		Usage: "look for what is wrong with the server and the cluster",
		Description: "Looks at the server's version, the replicas of the bucket, how often it is synced, the clock, the nodes' leases, whether\n" +
			"all nodes answer, and records of actors that no node has. It exits with 4 if there is a problem, also if the server\n" +
			"cannot be reached; notes are no problems. How often a server syncs it says on its monitoring port only.\n" +
			"With --json: OK, Problems, Checks.\n\n" +
			"Example:\n   firqcluster doctor --monitor http://localhost:8222 --json | jq .Problems",
		Flags: []cli.Flag{&cli.StringFlag{Name: "monitor", Usage: "`URL` of the server's monitoring port"}},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			s, err := p.session(cmd, nil)
			if err != nil {
				return err
			}
			defer s.close()
			within, end := context.WithTimeout(ctx, cmd.Duration("timeout"))
			defer end()
			r := &report{OK: true, Problems: []string{}}
			s.examine(within, r)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			err = s.show(cmd, r, func(w io.Writer) {
				rows := [][]string{}
				for _, f := range r.Checks {
					rows = append(rows, []string{f.Status, f.Name, f.Text})
				}
				table(w, rows)
			})
			if err == nil && !r.OK {
				return fmt.Errorf("%w: %d", errProblem, len(r.Problems))
			}
			return err
		},
	}
}

// examine fills the report. What keeps it from looking further is a problem.
func (s *session) examine(ctx context.Context, r *report) {
	if err := s.connect(ctx); err != nil {
		r.add("server", "problem", "%v", err)
		return
	}
	rtt, err := s.nc.RTT()
	if err != nil {
		r.add("server", "problem", "%v", err)
		return
	}
	r.add("server", "ok", "%s, nats-server %s, answers after %s", s.nc.ConnectedUrlRedacted(), s.nc.ConnectedServerVersion(), short(rtt))
	if old(s.nc.ConnectedServerVersion()) {
		r.add("version", "note", "Post needs nats-server 2.12, and is ErrUnsupported here")
	}
	if err := s.observe(ctx); err != nil {
		r.add("cluster", "problem", "%v", err)
		return
	}
	r.add("cluster", "ok", "%s: lease %v, codec %s", s.cluster, s.x.Lease(), s.x.Codec())
	asked := time.Now()
	info, err := s.x.Stream(ctx)
	if err != nil {
		r.add("bucket", "problem", "%v", err)
		return
	}
	clock(r, info.TimeStamp, asked, time.Now())
	bucket(r, info)
	s.sync(ctx, r, info)
	nodes, err := s.nodes(ctx)
	if err != nil {
		r.add("leases", "problem", "%v", err)
		return
	}
	leases(r, nodes, s.x.Lease())
	s.actors(ctx, r, nodes)
}

// old reports whether a server is older than 2.12.
func old(version string) bool {
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return false
	}
	return major < 2 || major == 2 && minor < 12
}

// clockOff is how far the server's clock may be from ours.
const clockOff = time.Second

// clock compares ours with the server's, which said its time between two of ours.
func clock(r *report, server, asked, answered time.Time) {
	off := time.Duration(0)
	if server.Before(asked) {
		off = server.Sub(asked)
	} else if server.After(answered) {
		off = server.Sub(answered)
	}
	status := "ok"
	if off.Abs() > clockOff {
		status = "problem"
	}
	r.add("clock", status, "the server's is %s from ours; no guarantee needs it, but the times of Post and of logs do", short(off))
}

// bucket looks at how the server keeps what it holds.
func bucket(r *report, info *jetstream.StreamInfo) {
	c := info.Config
	if c.Storage != jetstream.FileStorage {
		r.add("storage", "problem", "the bucket is in memory: what is saved goes with the server's process")
	}
	if c.AllowDirect {
		r.add("reads", "problem", "the bucket allows direct reads: a replica that lags would call a live node dead; the next Join switches it off")
	}
	if c.Replicas == 1 {
		r.add("replicas", "note", "1: the cluster rests while this server is away")
		return
	}
	var bad []string
	if info.Cluster == nil || info.Cluster.Leader == "" {
		bad = append(bad, "there is no leader")
	} else {
		for _, p := range info.Cluster.Replicas {
			if p.Offline || !p.Current {
				bad = append(bad, fmt.Sprintf("%s is behind by %d, or away for %s", p.Name, p.Lag, short(p.Active)))
			}
		}
	}
	if len(bad) > 0 {
		r.add("replicas", "problem", "%d: %s", c.Replicas, strings.Join(bad, "; "))
		return
	}
	r.add("replicas", "ok", "%d, the leader is %s", c.Replicas, info.Cluster.Leader)
}

// sync looks at how often the server's files reach the disk.
func (s *session) sync(ctx context.Context, r *report, info *jetstream.StreamInfo) {
	if info.Config.PersistMode == jetstream.AsyncPersistMode {
		r.add("sync", "problem", "the bucket's writes are acknowledged before they are written: a crash of the server loses some")
		return
	}
	url := s.cmd.String("monitor")
	if url == "" {
		r.add("sync", "note", "not known without --monitor; by default each 2 minutes, and a power failure may lose as much")
		return
	}
	always, interval, err := syncOf(ctx, url)
	switch {
	case err != nil:
		r.add("sync", "problem", "--monitor: %v", err)
	case always:
		r.add("sync", "ok", "always, before a write is acknowledged")
	default:
		r.add("sync", "note", "each %v: a power failure of all replicas may lose as much (sync_interval: always)", interval)
	}
}

// syncOf asks a server's monitoring port how often it syncs.
func syncOf(ctx context.Context, url string) (always bool, interval time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(url, "/")+"/varz", nil)
	if err != nil {
		return false, 0, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false, 0, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return false, 0, fmt.Errorf("%s: %s", req.URL.Redacted(), res.Status)
	}
	var v struct {
		JetStream struct {
			Config *struct {
				SyncInterval time.Duration `json:"sync_interval"`
				SyncAlways   bool          `json:"sync_always"`
			} `json:"config"`
		} `json:"jetstream"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&v); err != nil {
		return false, 0, fmt.Errorf("%s: %w", req.URL.Redacted(), err)
	}
	if v.JetStream.Config == nil {
		return false, 0, errors.New("this server has no JetStream")
	}
	return v.JetStream.Config.SyncAlways, v.JetStream.Config.SyncInterval, nil
}

// leases finds nodes that have not renewed.
func leases(r *report, nodes []node, lease time.Duration) {
	late := false
	for _, n := range nodes {
		switch n.State {
		case "silent":
			r.add("leases", "problem", "%s (%s) has not renewed for %s, its lease is %v: it is dead if no other node is there to say so", n.Name, n.ID, short(n.Silent), lease)
			late = true
		case "rests":
			r.add("leases", "problem", "%s (%s) has not renewed for %s, of a lease of %v: it handles nothing", n.Name, n.ID, short(n.Silent), lease)
			late = true
		}
	}
	if !late {
		r.add("leases", "ok", "%d nodes, all have renewed", len(nodes))
	}
}

// actors looks whether all nodes answer, and for records of actors that no node has.
func (s *session) actors(ctx context.Context, r *report, nodes []node) {
	alive := map[string]bool{}
	for _, n := range nodes {
		alive[n.ID] = true
	}
	here := map[string]bool{} // actors that were active before the records were read, or after
	active, err := s.active(ctx, here)
	if err != nil {
		r.add("nodes", "problem", "%v", err)
	} else {
		r.add("nodes", "ok", "all answer, and have %d actors", active)
	}
	records, saved, dead := 0, 0, 0
	var odd []firqnats.Record
	for x, err := range s.x.Records(ctx, "") {
		if err != nil {
			r.add("records", "problem", "%v", err)
			return
		}
		records++
		if x.Saved {
			saved++
		}
		switch {
		case x.Node == "":
		case !alive[x.Node]:
			dead++
		case !here[x.String()]:
			odd = append(odd, x)
		}
	}
	if len(odd) > 0 && err == nil {
		_, err = s.active(ctx, here)
	}
	lost := 0
	for _, x := range odd {
		if now, e := s.x.Record(ctx, x.Identity); e == nil && now.Revision == x.Revision && !here[x.String()] && err == nil {
			lost++
		}
	}
	r.add("records", "ok", "of %d actors, %d with a saved state", records, saved)
	if dead > 0 {
		r.add("orphans", "note", "%d records name a node that is gone: the next message to each of these actors takes it over", dead)
	}
	if lost > 0 {
		r.add("orphans", "note", "%d records name a node that does not have the actor: only that node can start it again, until it leaves", lost)
	}
	if dead+lost == 0 {
		r.add("orphans", "ok", "none")
	}
}

// active adds the actors that are active to a set, and returns how many there are.
func (s *session) active(ctx context.Context, here map[string]bool) (n int, err error) {
	for i, err := range s.x.Actors(ctx, "") {
		if err != nil {
			return n, err
		}
		here[i.String()] = true
		n++
	}
	return n, nil
}
