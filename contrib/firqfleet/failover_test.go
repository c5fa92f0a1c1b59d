//go:build unix

package firqfleet

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq/gate"
)

// info asks a server how it replicates.
func info(t testing.TB, c *redis.Client) string {
	text, _ := c.Info(context.Background(), "replication").Result()
	return text
}

// pair starts a primary and its replica, and waits until it replicates.
func pair(t *testing.T, binary string) (primary, replica *process) {
	t.Helper()
	primary = own(t, binary, "--repl-diskless-sync-delay", "0")
	replica = own(t, binary, "--repl-diskless-sync-delay", "0", "--replicaof", "127.0.0.1 "+strconv.Itoa(primary.port))
	c := client(t, replica.addr())
	until(t, "it replicates", func() bool { return strings.Contains(info(t, c), "master_link_status:up") })
	return primary, replica
}

// A replica takes over, without the last writes of its primary: members of which it knows all must not get slots that those have of
// which it does not.
func TestFailover(t *testing.T) {
	t.Parallel()
	for _, binary := range []string{"redis-server", "valkey-server"} {
		t.Run(binary, func(t *testing.T) {
			primary, replica := pair(t, binary)
			n := name()
			netA, netB := newProxy(t, primary.addr()), newProxy(t, primary.addr())
			cfg := Config{Name: n, Lease: 2 * time.Second}
			cfg.Client = client(t, netA.addr())
			a := join(t, "", 2, cfg)
			cfg.Client = client(t, netB.addr())
			b := join(t, "", 2, cfg)
			to := client(t, replica.addr())
			// Both have been told of all slots, and have none: a third member had them, and leaves.
			c := join(t, primary.addr(), 2, Config{Name: n})
			p, q := get(t, c, "z", gate.Request{}), get(t, c, "z", gate.Request{})
			p.Release()
			q.Release()
			_ = c.Close()
			<-c.Done()
			until(t, "the replica knows b as it is", func() bool {
				b.mu.Lock()
				trips := b.trips
				b.mu.Unlock()
				known, _ := to.HGet(bounded(t), b.prefix+":h:"+b.member, "#q").Uint64()
				used, err := to.HGet(bounded(t), b.prefix+":m", "u").Int()
				return err == nil && used == 0 && known == trips
			})
			if err := to.ReplicaOf(bounded(t), "no", "one").Err(); err != nil {
				t.Fatal(err)
			}
			p, q = get(t, a, "x", gate.Request{}), get(t, a, "x", gate.Request{}) // of the old one
			token := a.Lease().Token
			before := b.Stats()
			netB.retarget(replica.addr())
			waits := later(t, b, "y", gate.Request{})
			until(t, "b has an answer of the new one", func() bool { s := b.Stats(); return s.Syncs-s.Failed >= before.Syncs-before.Failed+2 })
			none(t, "b has a slot of a", waits)
			netA.retarget(replica.addr())
			until(t, "a joins again", func() bool { return a.Lease().Token > token })
			none(t, "above the limit", waits)
			p.Release()
			(<-waits).Release()
			q.Release()
		})
	}
}

// startSentinel starts a Sentinel that watches a primary, and waits until it knows the replica.
func startSentinel(t *testing.T, primary *process) (addr string, ask *redis.SentinelClient) {
	t.Helper()
	dir, port := t.TempDir(), freePort()
	conf := filepath.Join(dir, "sentinel.conf")
	text := fmt.Sprintf("bind 127.0.0.1\nport %d\ndir %s\nsentinel monitor m 127.0.0.1 %d 1\nsentinel down-after-milliseconds m 500\nsentinel failover-timeout m 2000\n",
		port, dir, primary.port)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(primary.binary, conf, "--sentinel") //nolint:gosec // a name of ours
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	addr = "127.0.0.1:" + strconv.Itoa(port)
	ask = redis.NewSentinelClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = ask.Close() })
	until(t, "the Sentinel knows the replica", func() bool {
		r, err := ask.Replicas(context.Background(), "m").Result()
		return err == nil && len(r) == 1 && r[0]["master-link-status"] == "ok"
	})
	return addr, ask
}

// TestSentinel has a Sentinel replace the primary of a fleet under load, as planned and because it is killed.
//
//	FIRQ_FLEET_HISTORY=10 go test -run TestSentinel -v ./contrib/firqfleet
func TestSentinel(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	a, b := pair(t, "redis-server")
	addr, ask := startSentinel(t, a)
	h := begin(t, "sentinel", addr)
	for round := range rounds(2) {
		if round%2 == 0 {
			h.counts["failover"]++
			if err := ask.Failover(bounded(t), "m").Err(); err != nil {
				t.Fatal(err)
			}
		} else {
			h.counts["primary killed"]++
			a.kill()
		}
		to := client(t, b.addr())
		until(t, "the replica takes over", func() bool { return strings.Contains(info(t, to), "role:master") })
		if round%2 != 0 {
			if err := a.start(); err != nil {
				t.Fatal(err)
			}
		}
		from := client(t, a.addr())
		until(t, "the old primary is its replica", func() bool {
			text := info(t, from)
			return strings.Contains(text, "role:slave") && strings.Contains(text, "master_link_status:up")
		})
		time.Sleep(3 * historyLease)
		a, b = b, a
	}
	h.check()
}

// TestCluster has the processes of a fleet work on a cluster, in which the primary of the fleet's keys is replaced as planned.
func TestCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	nodes := startCluster(t)
	var addrs []string
	for _, p := range nodes {
		addrs = append(addrs, p.addr())
	}
	h := begin(t, "cluster", addrs...)
	c := universal("cluster", addrs).(*redis.ClusterClient)
	t.Cleanup(func() { _ = c.Close() })
	slot := c.ClusterKeySlot(bounded(t), "ff:{"+h.name+"}").Val()
	for range rounds(1) {
		h.counts["failover"]++
		was := ownerOf(t, nodes, slot)
		var replica *redis.Client
		until(t, "it has a replica", func() bool {
			for _, p := range nodes {
				c := client(t, p.addr())
				text := info(t, c)
				if strings.Contains(text, "master_port:"+strconv.Itoa(was.port)) && strings.Contains(text, "master_link_status:up") {
					replica = c
					return true
				}
			}
			return false
		})
		from, asked := client(t, was.addr()), time.Time{}
		until(t, "the replica takes over", func() bool {
			if time.Since(asked) > 6*time.Second { // after 5 s it gives up, where a machine is too busy for its votes
				if err := replica.ClusterFailover(bounded(t)).Err(); err != nil {
					t.Fatal(err)
				}
				asked = time.Now()
				h.counts["asked"]++
			}
			return strings.Contains(info(t, from), "role:slave")
		})
		time.Sleep(3 * historyLease)
	}
	h.check()
}

// startCluster starts three primaries and a replica of each.
func startCluster(t *testing.T) (nodes []*process) {
	t.Helper()
	args := []string{"--cluster", "create", "--cluster-replicas", "1", "--cluster-yes"}
	for range 6 {
		p := own(t, "redis-server", "--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--repl-diskless-sync-delay", "0")
		nodes, args = append(nodes, p), append(args, p.addr())
	}
	if out, err := exec.CommandContext(bounded(t), "redis-cli", args...).CombinedOutput(); err != nil { //nolint:gosec // names of ours
		t.Fatalf("redis-cli --cluster create: %v: %s", err, out)
	}
	for _, p := range nodes {
		c := client(t, p.addr())
		until(t, "the cluster is up", func() bool {
			return strings.Contains(c.ClusterInfo(context.Background()).Val(), "cluster_state:ok")
		})
	}
	return nodes
}

// ownerOf returns the primary of a slot.
func ownerOf(t *testing.T, nodes []*process, slot int64) (owner *process) {
	t.Helper()
	c := client(t, nodes[0].addr())
	until(t, "a node has the slot", func() bool {
		ranges, _ := c.ClusterSlots(context.Background()).Result() //nolint:staticcheck // every version knows it
		for _, r := range ranges {
			for _, p := range nodes {
				if r.Start <= int(slot) && int(slot) <= r.End && strings.HasSuffix(r.Nodes[0].Addr, ":"+strconv.Itoa(p.port)) {
					owner = p
				}
			}
		}
		return owner != nil
	})
	return owner
}
