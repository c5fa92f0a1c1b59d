//go:build linux

package firqnats

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/firq-go/firq/actor"
)

// disk is a file system by itself, whose power can fail.
type disk struct{ image, dir string }

// newDisk makes and mounts a file system, which takes root's rights and a loop device.
func newDisk(t testing.TB) *disk {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can mount a file system: go test -exec sudo")
	}
	temp := t.TempDir()
	d := &disk{filepath.Join(temp, "image"), filepath.Join(temp, "disk")}
	if err := errors.Join(os.Mkdir(d.dir, 0o700), os.WriteFile(d.image, nil, 0o600), os.Truncate(d.image, 256<<20)); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.ext4", "-q", d.image).CombinedOutput(); err != nil {
		t.Skipf("no file system: %v %s", err, out)
	}
	if err := d.mount(); err != nil {
		t.Skip("no file system:", err)
	}
	t.Cleanup(func() { _ = d.do("umount", d.dir) })
	return d
}

func (d *disk) do(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w %s", name, err, bytes.TrimSpace(out))
	}
	return nil
}

func (d *disk) mount() error { return d.do("mount", "-o", "loop", d.image, d.dir) }

// fail lets the power fail: what was not synced is forgotten, of the journal, too. Then the disk is mounted again.
func (d *disk) fail(t testing.TB) {
	t.Helper()
	const (
		shutdown   = 0x8004587d // EXT4_IOC_SHUTDOWN, as _IOR('X', 125, __u32)
		noLogFlush = 2          // EXT4_GOING_FLAGS_NOLOGFLUSH
	)
	f := must(os.Open(d.dir))(t)
	flag := uint32(noLogFlush)
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), shutdown, uintptr(unsafe.Pointer(&flag)))
	_ = f.Close()
	if errno != 0 {
		t.Fatal("the file system does not fail:", errno)
	}
	if err := errors.Join(d.do("umount", d.dir), d.mount()); err != nil {
		t.Fatal(err)
	}
}

// powerWorld is a world whose server's data is on a disk, with lines of the server's configuration.
func powerWorld(t *testing.T, jetstream string) (*world, *disk) {
	d := newDisk(t)
	conf := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(conf, []byte("jetstream { "+jetstream+" }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return newWorld(t, faultLease, startReal(t, d.dir, "-c", conf)), d
}

// loses takes the power away from the server's machine: its process dies, and its disk forgets.
func (w *world) loses(d *disk) {
	s := w.servers[0]
	s.p.kill()
	d.fail(w.t)
	s.start(w.t)
}

// TestPower takes the power away. With sync_interval: always the server keeps all that it has acknowledged; as
// installed it forgets what it has not synced, which it does at each interval.
func TestPower(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Run("Always", func(t *testing.T) {
		t.Parallel()
		w, d := powerWorld(t, "sync_interval: always")
		fail := func() {
			w.loses(d)
			w.die() // a node that joins makes the bucket again, should it be lost
		}
		w.rounds(long(t, 0), fail, fail, fail)
	})
	t.Run("Installed", func(t *testing.T) {
		t.Parallel()
		w, d := powerWorld(t, "")
		acked := w.up(10)
		w.loses(d)
		if saved := w.saved(); saved >= acked {
			t.Errorf("%d of %d are there, though nothing was synced: the disk forgets nothing", saved, acked)
		}
	})
	t.Run("Interval", func(t *testing.T) {
		t.Parallel()
		const interval = time.Second
		w, d := powerWorld(t, fmt.Sprintf("sync_interval: %q", interval))
		acked := w.up(10)
		_ = nap(w.ctx, 5*interval)
		w.loses(d)
		if saved := w.saved(); saved != acked {
			t.Errorf("%d were acknowledged longer ago than the interval, and %d are there", acked, saved)
		}
	})
}

// up counts a key up, and returns how far.
func (w *world) up(times int) (acked int) {
	w.t.Helper()
	for range times {
		acked = must(countUp.Call(bounded(w.t), w.kind.Ref("0"), actor.Nothing{}))(w.t).Value
	}
	return acked
}

// saved is what a node that knows nothing reads of that key.
func (w *world) saved() int {
	w.t.Helper()
	for len(w.nodes) > 0 {
		w.one().p.kill()
	}
	w.add()
	return must(readCount.Call(bounded(w.t), w.kind.Ref("0"), actor.Nothing{}))(w.t).Value
}
