package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestBuildCache: a cache of our own is emptied when it has become too large, and no sooner; the user's never is.
func TestBuildCache(t *testing.T) {
	c := buildCache(filepath.Join(t.TempDir(), "cache"))
	if err := c.trim(3); err != nil {
		t.Fatalf("a cache that was not used: %v", err)
	}
	entry := filepath.Join(string(c), "00", "entry")
	if err := errors.Join(os.MkdirAll(filepath.Dir(entry), 0o700), os.WriteFile(entry, []byte("four"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		limit int64
		kept  bool
	}{{4, true}, {3, false}} {
		if err := c.trim(step.limit); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(entry); (err == nil) != step.kept {
			t.Errorf("four bytes, limit %d: kept %v, want %v", step.limit, err == nil, step.kept)
		}
	}
	if env := c.env(); !slices.Contains(env, "GOCACHE="+string(c)) {
		t.Error("the go command does not get the cache")
	}
	if err := buildCache("").trim(0); err != nil || buildCache("").env() != nil {
		t.Errorf("the user's own cache: %v, an environment of its own: %v", err, buildCache("").env() != nil)
	}
}
