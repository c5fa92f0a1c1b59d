package firqfleet

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// proxy is a network between a member and its server, which can be cut.
type proxy struct {
	l net.Listener

	mu     sync.Mutex
	target string
	conns  []net.Conn
	cut    bool
	still  chan struct{} // nil: data passes; else it does once this is closed
	held   atomic.Int64  // data that waits for it
	wg     sync.WaitGroup
}

func newProxy(t testing.TB, target string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{l: l, target: target}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.resume()
		p.sever()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) addr() string { return p.l.Addr().String() }

func (p *proxy) accept() {
	for {
		c, err := p.l.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		target := p.target
		p.mu.Unlock()
		s, err := net.Dial("tcp", target)
		p.mu.Lock()
		if err != nil || p.cut {
			_ = c.Close()
			if s != nil {
				_ = s.Close()
			}
			p.mu.Unlock()
			continue
		}
		p.conns = append(p.conns, c, s)
		p.mu.Unlock()
		p.wg.Go(func() { p.pass(c, s) })
		p.wg.Go(func() { p.pass(s, c) })
	}
}

func (p *proxy) pass(from, to net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		still := p.still
		p.mu.Unlock()
		if still != nil {
			p.held.Add(1)
			<-still
			p.held.Add(-1)
		}
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	_ = from.Close()
	_ = to.Close()
}

// sever closes all connections and refuses new ones.
func (p *proxy) sever() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = true
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

// hang keeps the connections, and passes nothing on until resume.
func (p *proxy) hang() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.still == nil {
		p.still = make(chan struct{})
	}
}

// resume ends sever and hang.
func (p *proxy) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = false
	if p.still != nil {
		close(p.still)
		p.still = nil
	}
}

// retarget leads new connections to another server, and closes the others.
func (p *proxy) retarget(addr string) {
	p.sever()
	p.mu.Lock()
	p.target = addr
	p.mu.Unlock()
	p.resume()
}
