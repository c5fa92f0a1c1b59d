package firqredis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// startSentinel starts a Sentinel that watches a primary, and waits until it knows the replica.
func startSentinel(t *testing.T, binary string, primary *process) (addr string, ask *redis.SentinelClient) {
	t.Helper()
	dir, port := t.TempDir(), freePort()
	conf := filepath.Join(dir, "sentinel.conf")
	ok(t, os.WriteFile(conf, fmt.Appendf(nil, "bind 127.0.0.1\nport %d\ndir %s\nsentinel monitor m 127.0.0.1 %d 1\nsentinel down-after-milliseconds m 60000\n",
		port, dir, primary.port), 0o600))
	cmd := exec.Command(primary.binary, conf, "--sentinel")
	cmd.SysProcAttr = dieWithParent()
	ok(t, cmd.Start())
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

// A planned SENTINEL FAILOVER promotes the replica first, and tells the old primary then: what that one takes in between is rolled
// back. With WaitReplicas Enqueue says so.
func TestSentinelFailover(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	binaries(t, func(t *testing.T, binary string) {
		for _, replicas := range []int{0, 1} {
			s, p := ownOf(t, binary, "--repl-diskless-sync-delay", "0")
			rs, r := ownOf(t, binary, "--repl-diskless-sync-delay", "0", "--replicaof", "127.0.0.1 "+strconv.Itoa(p.port))
			addr, sentinel := startSentinel(t, binary, p)
			old := s.client(t)
			c := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "m", SentinelAddrs: []string{addr}, MaxRetries: -1})
			t.Cleanup(func() { _ = c.Close() })
			q, ctx := open(t, s, Config[string]{Client: c, WaitReplicas: replicas}), bounded(t)
			until(t, "it replicates", func() bool { _, err := q.Enqueue(ctx, job{}); return err == nil })
			var acknowledged []string
			stop, done := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(done)
				for {
					select {
					case <-stop:
						return
					default:
					}
					brief, cancel := context.WithTimeout(ctx, patience/20)
					if id, err := q.Enqueue(brief, job{}); err == nil {
						acknowledged = append(acknowledged, id)
					} else if replicas == 0 && errors.Is(err, ErrNotReplicated) {
						t.Error(err)
					}
					cancel()
				}
			}()
			ok(t, sentinel.Failover(ctx, "m").Err())
			until(t, "the old primary is a replica", func() bool {
				text := old.Info(ctx, "replication").Val()
				return strings.Contains(text, "role:slave") && strings.Contains(text, "master_port:"+strconv.Itoa(r.port)) && strings.Contains(text, "master_link_status:up")
			})
			close(stop)
			<-done
			known, err := rs.client(t).HKeys(ctx, at(q).prefix[0]+":d").Result()
			ok(t, err)
			there := map[string]bool{}
			for _, id := range known {
				there[id] = true
			}
			lost := 0
			for _, id := range acknowledged {
				if !there[id] {
					lost++
				}
			}
			t.Logf("WaitReplicas %d: %d of %d acknowledged tasks are rolled back", replicas, lost, len(acknowledged))
			if (lost > 0) != (replicas == 0) {
				t.Errorf("WaitReplicas %d: %d lost", replicas, lost)
			}
			ok(t, q.Close())
		}
	})
}
