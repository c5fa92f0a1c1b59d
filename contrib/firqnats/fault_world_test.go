//go:build unix

package firqnats

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// process of a fault test.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	out   *bufio.Reader
	over  chan struct{} // closed when it has ended
}

// spawn starts this program again, or the one of FIRQNATS_SERVER, as a child.
func spawn(t testing.TB, path, env string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(path, args...), over: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), childEnv+"="+env)
	if testing.Verbose() {
		p.cmd.Stderr = os.Stderr
	}
	p.stdin = must(p.cmd.StdinPipe())(t)
	p.out = bufio.NewReader(must(p.cmd.StdoutPipe())(t))
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

// await waits until the process has said that it is ready, and for its end in the background.
func (p *process) await(t testing.TB) {
	t.Helper()
	ready := make(chan error, 1)
	go func() {
		line, err := p.out.ReadString('\n')
		if err == nil && line != "ready\n" {
			err = fmt.Errorf("it says %q", line)
		}
		ready <- err
		_, _ = io.Copy(io.Discard, p.out)
		_ = p.cmd.Wait()
		close(p.over)
	}()
	select {
	case err := <-ready:
		if err != nil {
			t.Error("a node does not start:", err)
		}
	case <-bounded(t).Done():
		t.Error("a node does not start")
	}
}

func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	_ = p.cmd.Process.Kill()
	<-p.over
}

// realServer is a nats-server that can be killed and started again.
type realServer struct {
	args []string
	url  string
	p    *process
}

// port that is free now.
func port(t testing.TB) int {
	t.Helper()
	l := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// startReal starts a server with default settings: this program, which holds all of nats-server, or the one at
// the path FIRQNATS_SERVER.
func startReal(t testing.TB, dir string, more ...string) *realServer {
	t.Helper()
	n := port(t)
	s := &realServer{url: fmt.Sprintf("nats://127.0.0.1:%d", n)}
	s.args = append([]string{"-a", "127.0.0.1", "-p", fmt.Sprint(n), "-js", "-sd", dir}, more...)
	s.start(t)
	return s
}

func (s *realServer) start(t testing.TB) {
	t.Helper()
	path := os.Getenv("FIRQNATS_SERVER")
	if path == "" {
		path = os.Args[0]
	}
	s.p = spawn(t, path, "server", s.args...)
	go func() {
		_, _ = io.Copy(io.Discard, s.p.out)
		_ = s.p.cmd.Wait()
		close(s.p.over)
	}()
	eventually(t, "the server accepts", func() bool {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "nats://"))
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
}

// wire is a connection to the server that can be cut, each way. What is sent then comes late, when it is mended.
type wire struct {
	l    net.Listener
	mu   sync.Mutex
	cond *sync.Cond
	cut  [2]bool // to the server, from it
	over bool
	all  []net.Conn
}

func newWire(t testing.TB, server string) *wire {
	w := &wire{l: must(net.Listen("tcp", "127.0.0.1:0"))(t)}
	w.cond = sync.NewCond(&w.mu)
	t.Cleanup(func() {
		w.mu.Lock()
		w.over = true
		for _, c := range w.all {
			_ = c.Close()
		}
		w.mu.Unlock()
		w.cond.Broadcast()
		_ = w.l.Close()
	})
	go func() {
		for {
			near, err := w.l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", strings.TrimPrefix(server, "nats://"))
			if err != nil { // the server is away
				_ = near.Close()
				continue
			}
			w.mu.Lock()
			w.all = append(w.all, near, far)
			w.mu.Unlock()
			go w.copy(far, near, 0)
			go w.copy(near, far, 1)
		}
	}()
	return w
}

func (w *wire) url() string { return "nats://" + w.l.Addr().String() }

// copy what comes, unless that way is cut.
func (w *wire) copy(to, from net.Conn, way int) {
	defer func() { _, _ = to.Close(), from.Close() }()
	b := make([]byte, 16<<10)
	for {
		k, err := from.Read(b)
		w.mu.Lock()
		for w.cut[way] && !w.over {
			w.cond.Wait()
		}
		w.mu.Unlock()
		if err != nil {
			return
		}
		if _, err := to.Write(b[:k]); err != nil {
			return
		}
	}
}

// set cuts or mends both ways.
func (w *wire) set(to, from bool) {
	w.mu.Lock()
	w.cut = [2]bool{to, from}
	w.mu.Unlock()
	w.cond.Broadcast()
}

// faultNode is a node in a process, behind a wire if there is one server.
type faultNode struct {
	p *process
	w *wire
}

func startNode(t testing.TB, server string, c childNode) *faultNode {
	t.Helper()
	c.URL = server
	var w *wire
	if !strings.Contains(server, ",") {
		w = newWire(t, server)
		c.URL = w.url()
	}
	b := must(json.Marshal(c))(t)
	n := &faultNode{spawn(t, os.Args[0], string(b)), w}
	n.p.await(t)
	return n
}
