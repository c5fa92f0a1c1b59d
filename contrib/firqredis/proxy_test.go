package firqredis

import (
	"net"
	"sync"
	"testing"
)

// proxy stands between a client and a server, and may cut their connections.
type proxy struct {
	to string
	l  net.Listener
	wg sync.WaitGroup

	mu    sync.Mutex
	off   bool
	conns map[net.Conn]bool
	cut   func(reply []byte) int // with mu held: how many bytes of a reply go through; below 0: all, and the connection lives
}

func startProxy(t testing.TB, to string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{to: to, l: l, conns: map[net.Conn]bool{}}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.down()
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
		s, err := net.Dial("tcp", p.to)
		p.mu.Lock()
		if err != nil || p.off {
			_ = c.Close()
			if err == nil {
				_ = s.Close()
			}
			p.mu.Unlock()
			continue
		}
		p.conns[c], p.conns[s] = true, true
		p.mu.Unlock()
		p.wg.Go(func() { p.pump(s, c, false) })
		p.wg.Go(func() { p.pump(c, s, true) })
	}
}

func (p *proxy) pump(to, from net.Conn, replies bool) {
	defer func() {
		_, _ = to.Close(), from.Close()
		p.mu.Lock()
		delete(p.conns, to)
		delete(p.conns, from)
		p.mu.Unlock()
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		through := -1
		p.mu.Lock()
		if replies && n > 0 && p.cut != nil {
			through = p.cut(buf[:n])
		}
		p.mu.Unlock()
		if through >= 0 {
			_, _ = to.Write(buf[:min(through, n)])
			return
		}
		if _, werr := to.Write(buf[:n]); werr != nil || err != nil {
			return
		}
	}
}

// cuts sets what becomes of replies.
func (p *proxy) cuts(f func(reply []byte) int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = f
}

// down cuts all connections, and refuses new ones.
func (p *proxy) down() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.off = true
	for c := range p.conns {
		_ = c.Close()
	}
}

func (p *proxy) up() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.off = false
}
