package config

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Example is a file with comments that passes Load.
//
//go:embed example.yaml
var Example string

// Mistakes are all that is wrong with a file.
type Mistakes []Mistake

// Mistake is one, of a field.
type Mistake struct{ Field, Text string }

func (ms Mistakes) Error() string {
	var b strings.Builder
	for i, m := range ms {
		if i > 0 {
			b.WriteByte('\n')
		}
		if m.Field != "" {
			b.WriteString(m.Field + ": ")
		}
		b.WriteString(m.Text)
	}
	return b.String()
}

// add adds a mistake, unless the field, or what it is in, has one already.
func (ms *Mistakes) add(field, format string, args ...any) {
	for _, m := range *ms {
		if m.Field != "" && (field == m.Field || strings.HasPrefix(m.Field, field+".") || strings.HasPrefix(field, m.Field+".")) {
			return
		}
	}
	*ms = append(*ms, Mistake{field, fmt.Sprintf(format, args...)})
}

// Load reads and checks a file, and the files that it names. The error is an I/O error, or
// Mistakes. lookup returns variables of the environment.
func Load(path string, lookup func(string) (string, bool)) (*Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c := new(Config)
	mistakes := c.read(text)
	c.check(&mistakes, filepath.Dir(path), lookup)
	if len(mistakes) > 0 {
		return nil, mistakes
	}
	return c, nil
}

// read reads one document. Unknown fields are mistakes.
func (c *Config) read(text []byte) (ms Mistakes) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	err := d.Decode(c)
	var many *yaml.LoadErrors
	var root yaml.Node
	switch {
	case errors.Is(err, io.EOF):
	case err == nil:
		if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
			ms = append(ms, Mistake{"", "there is more than one document, or the end cannot be read"})
		}
	case errors.As(err, &many) && yaml.Unmarshal(text, &root) == nil:
		for _, e := range many.Errors {
			ms = append(ms, Mistake{fieldAt(&root, "", e.Mark.Line, e.Mark.Column), fmt.Sprintf("line %d: %s", e.Mark.Line, strings.Replace(e.Message, " in type config.", " in ", 1))})
		}
	default:
		ms = append(ms, Mistake{"", err.Error()})
	}
	return ms
}

// fieldAt returns the path of the field whose value, or key, is at a position of the file: the
// YAML package names lines only. Empty: there is none.
func fieldAt(n *yaml.Node, name string, line, column int) string {
	if n.Line == line && n.Column == column && n.Kind != yaml.DocumentNode && name != "" {
		return name
	}
	for i, in := range n.Content {
		full := name
		switch {
		case n.Kind == yaml.SequenceNode:
			full = fmt.Sprintf("%s[%d]", name, i)
		case n.Kind == yaml.MappingNode && i%2 == 0:
			full = strings.TrimPrefix(name+"."+in.Value, ".")
		case n.Kind == yaml.MappingNode:
			full = strings.TrimPrefix(name+"."+n.Content[i-1].Value, ".")
		}
		if found := fieldAt(in, full, line, column); found != "" {
			return found
		}
	}
	return ""
}

// written returns a fleet as it is written down.
func (f *Fleet) written() Fleet {
	if f == nil {
		return Fleet{}
	}
	return Fleet{Redis: f.Redis, Name: f.Name, Lease: f.Lease, WhenDown: f.WhenDown}
}

// Fixed returns the fields that differ and that a program cannot change while it runs.
func Fixed(a, b *Config) (ms Mistakes) {
	for _, f := range []struct {
		name string
		a, b any
	}{
		{"listen", a.Listen, b.Listen},
		{"admin", a.Admin, b.Admin},
		{"fleet", a.Fleet.written(), b.Fleet.written()},
		{"limits.waiting", a.Limits.Waiting, b.Limits.Waiting},
		{"limits.waiting_per_tenant", a.Limits.WaitingPerTenant, b.Limits.WaitingPerTenant},
		{"limits.max_wait", a.Limits.MaxWait, b.Limits.MaxWait},
	} {
		if !reflect.DeepEqual(f.a, f.b) {
			ms.add(f.name, "a change needs a restart")
		}
	}
	return ms
}
