// Package embedded runs a NATS server, with JetStream, in this process: for tests, a quick start and a node that is
// alone. It is a package by itself so that only programs that import it link the server.
//
// What such a server has acknowledged survives the end of its process, if it has a Dir. A failure of the machine may cost
// the last two minutes, as that is how often NATS syncs its files; with Sync it costs nothing, and each write waits for
// the disk.
package embedded

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/firq-go/firq"
)

// patience is how long a start may take: JetStream reads what its folder holds.
const patience = 30 * time.Second

// Options of a Server. The zero value keeps nothing after Close, and listens on no port.
type Options struct {
	Dir  string // where the server keeps its data, one server at a time; "": in a temporary folder, until Close
	Port int    // on 127.0.0.1; 0: none, only this process can connect; -1: any that is free, see Server.URL
	Sync bool   // a write reaches the disk before it is acknowledged
}

// Server is a NATS server in this process.
type Server struct {
	s     *server.Server
	port  bool
	temp  string // folder that Close removes
	close sync.Once
}

// Start starts a server and returns when clients can connect.
func Start(o Options) (_ *Server, err error) {
	if o.Port < -1 || o.Port > 65535 {
		return nil, fmt.Errorf("%w: embedded: Port is %d, and must be -1 to 65535", firq.ErrInvalidConfig, o.Port)
	}
	x := &Server{port: o.Port != 0}
	defer func() {
		if err != nil {
			x.Close()
			err = fmt.Errorf("embedded: the NATS server does not start (Dir %q, Port %d): %w", o.Dir, o.Port, err)
		}
	}()
	if o.Dir == "" {
		if x.temp, err = os.MkdirTemp("", "firqnats-"); err != nil {
			return nil, err
		}
		o.Dir = x.temp
	}
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: o.Port, DontListen: o.Port == 0,
		JetStream: true, StoreDir: o.Dir, SyncAlways: o.Sync,
		NoSigs: true, // signals are the program's
	})
	if err != nil {
		return nil, err
	}
	x.s = s
	fatal := make(fatalities, 1)
	s.SetLoggerV2(fatal, false, false, false)
	s.Start()
	for began := time.Now(); ; {
		select {
		case text := <-fatal: // before the look whether it is ready: without a port it says so though JetStream failed
			return nil, errors.New(text)
		default:
		}
		if s.ReadyForConnections(10 * time.Millisecond) {
			return x, nil
		}
		if time.Since(began) > patience {
			return nil, fmt.Errorf("it is not ready after %v", patience)
		}
	}
}

// Connect returns a connection that does not use the network.
func (x *Server) Connect(opts ...nats.Option) (*nats.Conn, error) {
	return nats.Connect("", append([]nats.Option{nats.InProcessServer(x.s)}, opts...)...)
}

// URL is the server's address for other processes; "" if it listens on no port.
func (x *Server) URL() string {
	if !x.port {
		return ""
	}
	return x.s.ClientURL()
}

// Close ends the server, and with it all connections; without a Dir, what it kept is removed. The second time it does
// nothing.
func (x *Server) Close() {
	x.close.Do(func() {
		if x.s != nil {
			x.s.Shutdown()
			x.s.WaitForShutdown()
		}
		if x.temp != "" {
			_ = os.RemoveAll(x.temp)
		}
	})
}

// fatalities is a logger of the server that hears why it cannot go on, where nats-server would end its process.
type fatalities chan string

// Fatalf keeps the first reason.
func (f fatalities) Fatalf(format string, v ...any) {
	select {
	case f <- fmt.Sprintf(format, v...):
	default:
	}
}

func (fatalities) Noticef(string, ...any) {}
func (fatalities) Warnf(string, ...any)   {}
func (fatalities) Errorf(string, ...any)  {}
func (fatalities) Debugf(string, ...any)  {}
func (fatalities) Tracef(string, ...any)  {}
