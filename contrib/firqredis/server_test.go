package firqredis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// process is a server process.
type process struct {
	binary, dir string
	port        int
	args, env   []string // env: added to the test's
	cmd         *exec.Cmd
}

func (p *process) addr() string { return "127.0.0.1:" + strconv.Itoa(p.port) }

// start starts it, and waits until it answers.
func (p *process) start() error {
	args := append([]string{"--bind", "127.0.0.1", "--port", strconv.Itoa(p.port), "--dir", p.dir, "--save", "", "--loglevel", "warning"}, p.args...)
	p.cmd = exec.Command(p.binary, args...)
	p.cmd.SysProcAttr, p.cmd.Env = dieWithParent(), append(os.Environ(), p.env...)
	log, err := os.OpenFile(filepath.Join(p.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		return err
	}
	c := redis.NewClient(&redis.Options{Addr: p.addr()})
	defer func() { _ = c.Close() }()
	for range 500 {
		if err = c.Ping(context.Background()).Err(); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	p.kill()
	return fmt.Errorf("%s on port %d: %w", p.binary, p.port, err)
}

// kill ends it as a crash does.
func (p *process) kill() {
	if p.cmd != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		p.cmd = nil
	}
}

// freePort returns a port that is free, as is that of its cluster bus.
func freePort() int {
	for {
		port := 20_000 + rand.IntN(25_000)
		if listens(port) && listens(port+10_000) {
			return port
		}
	}
}

func listens(port int) bool {
	l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
	if err == nil {
		_ = l.Close()
	}
	return err == nil
}

// newProcess makes a process in its own folder. It is not started.
func newProcess(binary, dir string, args ...string) (*process, error) {
	path, err := exec.LookPath(binary)
	if err != nil {
		return nil, err
	}
	dir, err = os.MkdirTemp(dir, binary)
	return &process{binary: path, dir: dir, port: freePort(), args: args}, err
}

// own starts a server for one test, for what others would feel.
func own(t testing.TB, args ...string) (*server, *process) {
	redisServer.need(t)
	p, err := newProcess("redis-server", t.TempDir(), args...)
	if err == nil {
		err = p.start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return &server{name: "own", addrs: []string{p.addr()}}, p
}

// ownCluster starts a cluster for one test: three primaries, and replicas of each.
func ownCluster(t testing.TB, replicas int) (*server, []*process) {
	clusterServer.need(t)
	ps, err := startCluster(t.TempDir(), replicas)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{name: "own cluster"}
	for _, p := range ps {
		t.Cleanup(p.kill)
		s.addrs = append(s.addrs, p.addr())
	}
	return s, ps
}

// startServers starts all of them together; what it returns stops them.
func startServers() (stop func()) {
	dir, err := os.MkdirTemp("", "firqredis")
	if err != nil {
		panic(err)
	}
	var mu sync.Mutex
	var all []*process
	single := func(s *server, binary string) {
		p, err := newProcess(binary, dir)
		if err == nil {
			err = p.start()
		}
		if s.err = err; err == nil {
			s.addrs = []string{p.addr()}
			mu.Lock()
			all = append(all, p)
			mu.Unlock()
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { single(redisServer, "redis-server") })
	wg.Go(func() { single(valkeyServer, "valkey-server") })
	wg.Go(func() {
		ps, err := startCluster(dir, 0)
		clusterServer.err = err
		for _, p := range ps {
			clusterServer.addrs = append(clusterServer.addrs, p.addr())
		}
		mu.Lock()
		all = append(all, ps...)
		mu.Unlock()
	})
	wg.Wait()
	return func() {
		for _, p := range all {
			p.kill()
		}
		_ = os.RemoveAll(dir)
	}
}

// startCluster starts three primaries that share the slots, and the given number of replicas of each. A node
// that does not answer is taken for dead after 5 s, or, where there is one to take its place, after 1 s.
func startCluster(dir string, replicas int) (ps []*process, err error) {
	if _, err := exec.LookPath("redis-cli"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			for _, p := range ps {
				p.kill()
			}
			ps = nil
		}
	}()
	args := []string{"--cluster", "create", "--cluster-replicas", strconv.Itoa(replicas)}
	timeout := "5000"
	if replicas > 0 {
		timeout = "1000"
	}
	for range 3 * (1 + replicas) {
		p, err := newProcess("redis-server", dir, "--cluster-enabled", "yes", "--cluster-node-timeout", timeout,
			"--repl-diskless-sync-delay", "0")
		if err == nil {
			err = p.start()
		}
		if err != nil {
			return ps, err
		}
		ps = append(ps, p)
		args = append(args, p.addr())
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "redis-cli", append(args, "--cluster-yes")...).CombinedOutput(); err != nil {
		return ps, fmt.Errorf("redis-cli --cluster create: %w: %s", err, out)
	}
	for _, p := range ps {
		c := redis.NewClient(&redis.Options{Addr: p.addr()})
		for {
			text, err := c.ClusterInfo(ctx).Result()
			if err == nil && strings.Contains(text, "cluster_state:ok") {
				break
			}
			if ctx.Err() != nil {
				_ = c.Close()
				return ps, errors.Join(fmt.Errorf("the cluster does not come up: %s", text), err)
			}
			time.Sleep(20 * time.Millisecond)
		}
		_ = c.Close()
	}
	return ps, nil
}
