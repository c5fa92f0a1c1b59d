package firq_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// group is a group of schedtest as docs/guarantees.md names it.
var group = regexp.MustCompile("`schedtest/([a-z-]+)`")

// TestGuaranteesDocument: each row of docs/guarantees.md names tests, and there are all of
// them.
func TestGuaranteesDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("docs", "guarantees.md"))
	if err != nil {
		t.Fatal(err)
	}
	groups, err := os.ReadFile(filepath.Join("schedtest", "run.go"))
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(text)) {
		functions := named.FindAllStringSubmatch(line, -1)
		contract := group.FindAllStringSubmatch(line, -1)
		if strings.HasPrefix(line, "| ") && !strings.HasSuffix(line, "| tests |\n") {
			if rows++; len(functions)+len(contract) == 0 {
				t.Errorf("names no test: %s", line)
			}
		}
		for _, f := range functions {
			if !declares(t, f[1], f[2]) {
				t.Errorf("%s has no %s", f[1], f[2])
			}
		}
		for _, g := range contract {
			if !strings.Contains(string(groups), `"`+g[1]+`"`) {
				t.Errorf("schedtest has no group %s", g[1])
			}
		}
	}
	if rows < 20 {
		t.Errorf("%d rows", rows)
	}
}

// TestClusterDocument: each row of what holds when, in docs/cluster.md, names tests, and there are all of them.
func TestClusterDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("docs", "cluster.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| what happens | what holds | test |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := 0
	for line := range strings.Lines(table) {
		tests := named.FindAllStringSubmatch(line, -1)
		if rows++; len(tests) == 0 && !strings.HasPrefix(line, "| ---") && !strings.HasPrefix(line, "|---") {
			t.Errorf("names no test: %s", line)
		}
		for _, f := range tests {
			if !declares(t, f[1], f[2]) {
				t.Errorf("%s has no %s", f[1], f[2])
			}
		}
	}
	if rows < 8 {
		t.Errorf("only %d rows: is this the table?", rows)
	}
}
