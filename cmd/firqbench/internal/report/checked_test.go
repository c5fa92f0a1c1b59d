package report

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
)

// full is a disk with room for the given number of bytes.
type full struct {
	bytes.Buffer
	room int
}

var errFull = errors.New("no space left")

func (f *full) Write(p []byte) (int, error) {
	n := min(len(p), f.room)
	f.room -= n
	f.Buffer.Write(p[:n])
	if n < len(p) {
		return n, errFull
	}
	return n, nil
}

// The first error is kept, and nothing is written after it: a file with a hole in it is
// worse than one that ends.
func TestChecked(t *testing.T) {
	disk := &full{room: 5}
	c := NewChecked(disk)
	if Printf(c, "one"); c.Err() != nil {
		t.Fatal(c.Err())
	}
	Printf(c, "two")
	disk.room = 100
	Printf(c, "three")
	if _, err := io.WriteString(c, "four"); !errors.Is(err, errFull) || !errors.Is(c.Err(), errFull) || disk.String() != "onetw" {
		t.Errorf("%v, %v, %q", err, c.Err(), disk.String())
	}
}

// A file is no terminal, wrapped or not.
func TestTerminal(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, w := range []io.Writer{f, NewChecked(f), NewChecked(io.Discard), io.Discard} {
		if Terminal(w) != nil || IsTerminal(w) {
			t.Errorf("%T is a terminal", w)
		}
	}
}
