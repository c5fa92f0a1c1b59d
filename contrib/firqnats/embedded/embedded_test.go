package embedded

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/firq-go/firq"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start starts a server that ends with the test.
func start(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// bucket returns a key-value bucket by a connection of its own.
func bucket(t *testing.T, nc *nats.Conn, err error) jetstream.KeyValue {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	kv, err := js.CreateOrUpdateKeyValue(bounded(t), jetstream.KeyValueConfig{Bucket: "b"})
	if err != nil {
		t.Fatal(err)
	}
	return kv
}

func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// put writes a key.
func put(t *testing.T, kv jetstream.KeyValue, key string) {
	t.Helper()
	if _, err := kv.PutString(bounded(t), key, "v"); err != nil {
		t.Fatal(err)
	}
}

// has reads a key.
func has(t *testing.T, kv jetstream.KeyValue, key string) bool {
	t.Helper()
	_, err := kv.Get(bounded(t), key)
	if err != nil && !errors.Is(err, jetstream.ErrKeyNotFound) {
		t.Fatal(err)
	}
	return err == nil
}

// TestZero starts a server without Options: only this process can connect, and nothing is left.
func TestZero(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	s := start(t, Options{})
	nc, err := s.Connect()
	kv := bucket(t, nc, err)
	put(t, kv, "k")
	if !has(t, kv, "k") {
		t.Error("the key is gone")
	}
	if s.URL() != "" || s.s.Addr() != nil {
		t.Errorf("the server listens on %v, URL %q, though it has no Port", s.s.Addr(), s.URL())
	}
	nc.Close()
	s.Close()
	s.Close()
	if left, _ := filepath.Glob(filepath.Join(temp, "*")); len(left) > 0 {
		t.Errorf("after Close there are still %q", left)
	}
	if _, err := s.Connect(); err == nil {
		t.Error("Connect after Close succeeds")
	}
}

// TestDir starts a server on the data of one that has ended.
func TestDir(t *testing.T) {
	dir := t.TempDir()
	first := start(t, Options{Dir: dir})
	nc, err := first.Connect()
	put(t, bucket(t, nc, err), "kept")
	first.Close()
	second := start(t, Options{Dir: dir})
	nc, err = second.Connect()
	if !has(t, bucket(t, nc, err), "kept") {
		t.Error("what the first server has acknowledged is not in the second")
	}
	second.Close()
	if _, err := os.Stat(dir); err != nil {
		t.Error("Close has removed the user's folder:", err)
	}
}

// TestPort connects by the network, as other processes do.
func TestPort(t *testing.T) {
	s := start(t, Options{Port: -1})
	nc, err := nats.Connect(s.URL())
	put(t, bucket(t, nc, err), "far")
	nc, err = s.Connect()
	if !has(t, bucket(t, nc, err), "far") {
		t.Error("the connections reach different servers")
	}
}

// TestSync asks the server whether it syncs.
func TestSync(t *testing.T) {
	for _, sync := range []bool{false, true} {
		if s := start(t, Options{Sync: sync}); s.s.JetStreamConfig().SyncAlways != sync {
			t.Errorf("Sync is %v, and the server's SyncAlways is not", sync)
		}
	}
}

// TestCannot starts servers that cannot be: the error says why, soon, and nothing is left.
func TestCannot(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	for _, c := range []struct {
		o    Options
		says string
	}{
		{Options{Port: taken.Addr().(*net.TCPAddr).Port}, "address already in use"},
		{Options{Dir: file}, file},
		{Options{Port: 65536}, "Port is 65536"},
		{Options{Port: -2}, "Port is -2"},
	} {
		s, err := Start(c.o)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: the error is %v, and should name %q", c.o, err, c.says)
		}
		if s != nil {
			t.Errorf("%+v: a server beside the error", c.o)
			s.Close()
		}
		if invalid := strings.HasPrefix(c.says, "Port"); errors.Is(err, firq.ErrInvalidConfig) != invalid {
			t.Errorf("%+v: whether %v is ErrInvalidConfig should be %v", c.o, err, invalid)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(temp, "*")); len(left) > 0 {
		t.Errorf("failed starts left %q", left)
	}
}
