package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/firq-go/firq/contrib/firqproxy/internal/config"
	"github.com/firq-go/firq/contrib/firqproxy/internal/proxy"
)

// Limits of the servers, so that connections that send nothing end. How long a request and
// its response take is theirs: they may be streams.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
)

// ballast is memory that is never touched, and so takes none of the machine's. Go collects garbage whenever the heap has doubled, and a
// proxy keeps next to nothing: without it, it collects every 4 MB, some ten times a second under load.
const ballast = 16 << 20

// serve forwards requests until a signal says otherwise.
func serve(ctx context.Context, file string, cfg *config.Config, log *slog.Logger) error {
	defer runtime.KeepAlive(make([]byte, ballast))
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT)
	defer signal.Stop(signals)

	p, err := proxy.New(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer p.Close() // after the server: what it cuts off gives its slots back
	failed := make(chan error, 2)
	listen := func(addr string, h http.Handler) (*http.Server, string, error) {
		s := &http.Server{Handler: h, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
		l, err := net.Listen("tcp", addr)
		if err != nil {
			return nil, "", err
		}
		go func() {
			if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				failed <- err
			}
		}()
		return s, l.Addr().String(), nil
	}
	var adminAddr string
	if cfg.Admin != "" {
		var admin *http.Server
		admin, adminAddr, err = listen(cfg.Admin, p.Admin())
		if err != nil {
			return fmt.Errorf("admin: %w", err)
		}
		defer func() { _ = admin.Close() }()
	}
	server, addr, err := listen(cfg.Listen, p)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	defer func() { _ = server.Close() }()
	log.Info("forwarding", "listen", addr, "admin", adminAddr, "upstream", cfg.Upstream, "slots", cfg.Limits.Slots)
	for {
		select {
		case err := <-failed:
			return err
		case s := <-signals:
			if s == syscall.SIGHUP {
				cfg = reload(ctx, p, file, cfg, log)
				continue
			}
			log.Info("draining", "signal", s.String(), "for", cfg.Drain)
			return drain(ctx, p, server, cfg.Drain, signals)
		}
	}
}

// reload reads the file again, and returns the configuration that holds from now on.
func reload(ctx context.Context, p *proxy.Proxy, file string, cfg *config.Config, log *slog.Logger) *config.Config {
	next, err := config.Load(file, os.LookupEnv)
	if err != nil {
		p.ReloadFailed()
	} else {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		err = p.Reload(ctx, next)
	}
	if err != nil {
		log.Error("the configuration stays as it was", "error", strings.ReplaceAll(err.Error(), "\n", "; "))
		return cfg
	}
	log.Info("the configuration has changed", "upstream", next.Upstream, "slots", next.Limits.Slots)
	return next
}

var (
	errDrain  = errors.New("not all requests have ended in time (drain)")
	errSecond = errors.New("a second signal came before all requests had ended")
)

// drain serves the requests that wait, and no others.
func drain(ctx context.Context, p *proxy.Proxy, server *http.Server, d time.Duration, signals <-chan os.Signal) error {
	p.Drain()
	ctx, cancel := context.WithTimeoutCause(ctx, d, errDrain)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		for {
			select {
			case s := <-signals:
				if s != syscall.SIGHUP {
					stop(errSecond)
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	err := server.Shutdown(ctx)
	if err == nil {
		err = p.Shutdown(ctx) // connections that were upgraded are the gate's alone
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
