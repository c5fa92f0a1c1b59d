package firqprom_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
)

// patience is the time limit for what another process does. Nothing should take as long.
const patience = time.Minute

// program returns the path of a program of the Debian package prometheus. In CI
// it must be there; elsewhere the test is skipped without it.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
		return path
	case os.Getenv("CI") == "true":
		t.Fatalf("%s is missing: apt-get install prometheus", name)
	default:
		t.Skipf("%s is missing: apt-get install prometheus", name)
	}
	return ""
}

// eventually calls try until it returns nil.
func eventually(t *testing.T, what string, try func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		err := try(ctx)
		if err == nil {
			return
		}
		if ctx.Err() == nil { // else err is about ctx
			last = err
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, last)
		case <-tick.C:
		}
	}
}

// startPrometheus starts a Prometheus server with config and returns a client of it. The server
// ends with the test.
func startPrometheus(t *testing.T, config string) promv1.API {
	t.Helper()
	binary := program(t, "prometheus")
	dir := t.TempDir()
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for attempt := range 5 {
		address := freeAddress(t) // another program may take it in between
		var log bytes.Buffer
		cmd := exec.CommandContext(t.Context(), binary,
			"--config.file="+file,
			"--storage.tsdb.path="+filepath.Join(dir, fmt.Sprint("data", attempt)),
			"--web.listen-address="+address,
			"--enable-feature=native-histograms")
		cmd.Stdout, cmd.Stderr = &log, &log
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
		cmd.WaitDelay = 10 * time.Second
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		exited := make(chan struct{})
		go func() {
			_ = cmd.Wait() // why it ended is in the log
			close(exited)
		}()
		t.Cleanup(func() { <-exited }) // t.Context ends before cleanups run
		if ready(t, "http://"+address, exited) {
			client, err := api.NewClient(api.Config{Address: "http://" + address})
			if err != nil {
				t.Fatal(err)
			}
			return promv1.NewAPI(client)
		}
		t.Logf("prometheus ended early:\n%s", &log)
	}
	t.Fatal("prometheus does not start")
	return nil
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// ready waits until the server answers or has ended, and reports whether it answers.
func ready(t *testing.T, url string, exited <-chan struct{}) (ok bool) {
	t.Helper()
	eventually(t, "prometheus is not ready", func(ctx context.Context) error {
		select {
		case <-exited:
			return nil
		default:
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/-/ready", nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("status %s", response.Status)
		}
		ok = true
		return nil
	})
	return ok
}
