package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

func TestCommands(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var example bytes.Buffer
	if code := execute([]string{"example"}, &example, &example); code != 0 {
		t.Fatalf("exit code %d: %s", code, &example)
	}
	good := file("good.yaml", example.String())
	bad := file("bad.yaml", "listen: x\nlimit: {}\nupstream: y\n")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	busy := file("busy.yaml", "listen: "+taken.Addr().String()+"\nupstream: http://127.0.0.1:9\nlimits: {slots: 1}\n")
	for _, c := range []struct {
		args string
		code int
		out  string // some of it
		errs string
	}{
		{"", 2, "", "\nusage: firqproxy run"},
		{"help", 0, "\nusage: firqproxy run", ""},
		{"version", 0, "firqproxy version ", ""},
		{"fly", 2, "", "unknown command: fly"},
		{"check", 2, "", "usage: "},
		{"example -c x", 2, "", "usage: "},
		{"check -c " + good + " more", 2, "", "usage: "},
		{"demo -c " + good, 2, "", "usage: "},
		{"check --wrong", 2, "", "usage: "},
		{"run --help", 0, "", "usage: "},
		{"check -c " + good, 0, "ok\n", ""},
		{"check -c " + bad, 2, "", "bad.yaml: listen: "},
		{"check -c " + bad, 2, "", "bad.yaml: limit: "},
		{"check -c " + bad, 2, "", "bad.yaml: limits.slots: "},
		{"check -c " + bad, 2, "", "bad.yaml: upstream: "},
		{"run -c " + bad, 2, "", "bad.yaml: listen: "},
		{"run -c " + filepath.Join(dir, "missing"), 2, "", "missing"},
		{"run -c " + busy, 1, "", "listen: "},
	} {
		var out, errs bytes.Buffer
		if code := execute(strings.Fields(c.args), &out, &errs); code != c.code {
			t.Errorf("%s: exit code %d", c.args, code)
		}
		if (c.out == "") != (out.Len() == 0) || !strings.Contains(out.String(), c.out) || (c.errs == "") != (errs.Len() == 0) || !strings.Contains(errs.String(), c.errs) {
			t.Errorf("%s\n%s--\n%s", c.args, &out, &errs)
		}
	}
}

// TestSidecar: the file in the example's ConfigMap passes check.
func TestSidecar(t *testing.T) {
	text, err := os.ReadFile("../../examples/sidecar.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var m struct{ Data map[string]string }
	if err := yaml.Unmarshal(text[:bytes.Index(text, []byte("\n---\n"))], &m); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "firqproxy.yaml")
	if err := os.WriteFile(file, []byte(m.Data["firqproxy.yaml"]), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if code := execute([]string{"check", "-c", file}, &out, &out); code != 0 {
		t.Errorf("exit code %d: %s", code, &out)
	}
}
