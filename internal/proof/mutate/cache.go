package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// The go command keeps what it compiles for five days: some 70 MB of each mutant, which are
// not needed again. So a run of more than few mutants compiles them into temporary caches. A shorter run uses the user's cache, where the packages without faults
// are compiled already.
const (
	few  = 30
	keep = 3 << 30 // bytes of a cache of our own
)

// buildCache is the folder where the go command keeps what it has compiled, "" for the user's
// own. Each is used by one job.
type buildCache string

// env returns the environment of a go command that uses the cache.
func (c buildCache) env() []string {
	if c == "" {
		return nil // that of this process
	}
	return append(os.Environ(), "GOCACHE="+string(c))
}

// trim empties a cache of our own that has more than limit bytes. The go command forgets single
// entries only by age.
func (c buildCache) trim(limit int64) error {
	if c == "" {
		return nil
	}
	var size int64
	err := filepath.WalkDir(string(c), func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return err
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // not used yet
	case err != nil:
		return err
	case size <= limit:
		return nil
	}
	return os.RemoveAll(string(c))
}
