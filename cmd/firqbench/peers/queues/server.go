package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// errNoServer: there is nothing to measure on.
var errNoServer = errors.New("there is no redis-server in PATH: install it, or name another one with --server")

// server is a Redis server of our own, on a free port of the loopback interface.
type server struct {
	addr    string
	version string // and what it keeps on disk
	cmd     *exec.Cmd
	dir     string
	ended   chan struct{} // closed when it has
	admin   *redis.Client
}

// startServer starts program, and waits until it answers. It keeps nothing on disk if appendfsync is "off".
func startServer(ctx context.Context, program, appendfsync string) (s *server, err error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, fmt.Errorf("%w (%q: %w)", errNoServer, program, err)
	}
	dir, err := os.MkdirTemp("", "firq-queues-")
	if err != nil {
		return nil, err
	}
	made := &server{dir: dir}
	defer func() {
		if err != nil {
			made.stop()
		}
	}()
	keep := []string{"--appendonly", "no"}
	if appendfsync != "off" {
		keep = []string{"--appendonly", "yes", "--appendfsync", appendfsync}
	}
	if err := made.start(ctx, path, keep); err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	if appendfsync != "off" {
		made.version += ", appendfsync " + appendfsync
	}
	return made, nil
}

func (s *server) start(ctx context.Context, path string, keep []string) error {
	port, err := freePort(ctx)
	if err != nil {
		return err
	}
	s.addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	args := append([]string{"--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--save", "", "--dir", s.dir, "--logfile", filepath.Join(s.dir, "log")}, keep...)
	s.cmd = exec.Command(path, args...)                     //nolint:gosec // what the user names
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for us
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.ended = make(chan struct{})
	go func() { _ = s.cmd.Wait(); close(s.ended) }()
	for until := time.Now().Add(10 * time.Second); ; {
		var d net.Dialer
		c, err := d.DialContext(ctx, "tcp", s.addr)
		if err == nil {
			_ = c.Close()
			break
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Now().After(until) {
			return fmt.Errorf("no answer on %s: %w\n%s", s.addr, err, s.log())
		}
		select {
		case <-s.ended:
			return fmt.Errorf("has ended: %v\n%s", s.cmd.ProcessState, s.log())
		case <-time.After(10 * time.Millisecond):
		}
	}
	s.admin = redis.NewClient(&redis.Options{Addr: s.addr, PoolSize: 1})
	all, err := s.info(ctx, "server")
	if err != nil {
		return err
	}
	if s.version = "Redis " + all["redis_version"]; all["valkey_version"] != "" {
		s.version = "Valkey " + all["valkey_version"]
	}
	return nil
}

// log returns what the server has to say of itself.
func (s *server) log() []byte {
	text, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	return text
}

func freePort(ctx context.Context) (int, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// stop ends the server, which has nothing to lose.
func (s *server) stop() {
	if s.admin != nil {
		_ = s.admin.Close()
	}
	if s.ended != nil {
		_ = s.cmd.Process.Kill()
		<-s.ended
	}
	_ = os.RemoveAll(s.dir)
}

// client returns a client with the given number of connections at most.
func (s *server) client(conns int) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: s.addr, PoolSize: conns})
}

// empty throws everything away.
func (s *server) empty(ctx context.Context) error {
	return s.admin.FlushAll(ctx).Err()
}

// info returns a section of INFO.
func (s *server) info(ctx context.Context, section string) (map[string]string, error) {
	text, err := s.admin.Info(ctx, section).Result()
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			all[k] = v
		}
	}
	return all, nil
}

// usage is what has been used until an instant.
type usage struct {
	at             time.Time
	server, client float64 // CPU time, in us
	scripts        float64 // calls
}

func (s *server) usage(ctx context.Context) (u usage, err error) {
	cpu, err := s.info(ctx, "cpu")
	if err != nil {
		return u, err
	}
	for _, k := range []string{"used_cpu_sys", "used_cpu_user"} {
		seconds, err := strconv.ParseFloat(cpu[k], 64)
		if err != nil {
			return u, fmt.Errorf("INFO cpu: %s: %w", k, err)
		}
		u.server += seconds * 1e6
	}
	commands, err := s.info(ctx, "commandstats")
	if err != nil {
		return u, err
	}
	for _, k := range []string{"cmdstat_eval", "cmdstat_evalsha"} {
		calls, _, _ := strings.Cut(strings.TrimPrefix(commands[k], "calls="), ",")
		n, _ := strconv.ParseFloat(calls, 64)
		u.scripts += n
	}
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		return u, err
	}
	u.client = float64(own.Utime.Nano()+own.Stime.Nano()) / 1e3
	u.at = time.Now()
	return u, nil
}

// memory returns how many bytes are in use, but for those of the connections that are gone.
func (s *server) memory(ctx context.Context) (float64, error) {
	m, err := s.info(ctx, "memory")
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(m["used_memory"], 64)
}
