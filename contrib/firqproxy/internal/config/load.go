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
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Example is a file with comments that passes Load.
//
//go:embed example.yaml
var Example string

// Mistakes are all that is wrong with a file.
type Mistakes []Mistake

// Mistake is one, of a field. Line is that of the field in the file, or, if it is missing, of what it belongs in; 0: unknown.
type Mistake struct {
	Field, Text string
	Line        int
}

func (ms Mistakes) Error() string {
	var b strings.Builder
	for i, m := range ms {
		if i > 0 {
			b.WriteByte('\n')
		}
		if m.Field != "" {
			b.WriteString(m.Field + ": ")
		}
		if m.Line > 0 {
			fmt.Fprintf(&b, "line %d: ", m.Line)
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
	*ms = append(*ms, Mistake{Field: field, Text: fmt.Sprintf(format, args...)})
}

// Load reads and checks a file, and the files that it names. The error is an I/O error, or
// Mistakes. lookup returns variables of the environment.
func Load(path string, lookup func(string) (string, bool)) (*Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c := new(Config)
	root, mistakes := c.read(text)
	if root != nil {
		c.check(&mistakes, filepath.Dir(path), lookup)
		each(root, "", func(name string, n *yaml.Node) {
			if name == "fleet" && n.Tag == "!!null" { // its fields are comments still
				mistakes.add(name, "is empty, must have redis; without fleet the limits are those of each process")
			}
		})
		mistakes.find(root)
	}
	if len(mistakes) > 0 {
		return nil, mistakes
	}
	return c, nil
}

// read reads one document, and returns its nodes; nil: it cannot be read, and so nothing else can be said about it. Unknown fields are
// mistakes.
func (c *Config) read(text []byte) (*yaml.Node, Mistakes) {
	root := new(yaml.Node)
	if err := yaml.Unmarshal(text, root); err != nil && !errors.Is(err, io.EOF) {
		return nil, Mistakes{{Text: err.Error()}}
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	err := d.Decode(c)
	var many *yaml.LoadErrors
	switch {
	case errors.Is(err, io.EOF):
	case err == nil:
		if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
			return root, Mistakes{{Text: "there is more than one document, or the end cannot be read"}}
		}
	case errors.As(err, &many):
		var ms Mistakes
		for _, e := range many.Errors {
			ms = append(ms, Mistake{fieldAt(root, e.Mark.Line, e.Mark.Column), plain(e.Message), e.Mark.Line})
			if strings.Contains(e.Message, "already defined") { // then nothing was read
				root = nil
			}
		}
		return root, ms
	default:
		return nil, Mistakes{{Text: err.Error()}}
	}
	return root, nil
}

var wrongType = regexp.MustCompile(`^cannot construct !!\w+( .*)? into (.*)$`)

// plain says what the YAML package does, in terms of the file.
func plain(message string) string {
	if strings.Contains(message, "not found in type config.") {
		return "there is no such field"
	}
	m := wrongType.FindStringSubmatch(message)
	if m == nil {
		return message
	}
	is, must := strings.TrimSpace(m[1]), "NAME: VALUE"
	switch t := m[2]; {
	case t == "int" || t == "int64":
		must = "a whole number"
	case t == "float64":
		must = "a number"
	case t == "time.Duration":
		must = "a duration, such as 30s"
	case t == "string":
		must = "a text"
	case strings.HasPrefix(t, "[]"):
		must = "a list"
	}
	if is != "" {
		is += ", "
	}
	return is + "must be " + must
}

// each calls f with each node below n and the name of the field that it is of: first with that of the key, then with the value's.
func each(n *yaml.Node, name string, f func(name string, n *yaml.Node)) {
	for i, in := range n.Content {
		full := name
		switch n.Kind {
		case yaml.SequenceNode:
			full = fmt.Sprintf("%s[%d]", name, i)
		case yaml.MappingNode:
			full = strings.TrimPrefix(name+"."+n.Content[i&^1].Value, ".")
		}
		if full != "" {
			f(full, in)
		}
		each(in, full, f)
	}
}

// fieldAt returns the name of the field whose value, or key, is at a position of the file: the YAML package names lines only. Empty:
// there is none.
func fieldAt(root *yaml.Node, line, column int) (found string) {
	each(root, "", func(name string, n *yaml.Node) {
		if found == "" && n.Line == line && n.Column == column {
			found = name
		}
	})
	return found
}

// find says in which lines the mistakes are, as far as they do not yet.
func (ms Mistakes) find(root *yaml.Node) {
	for i := range ms {
		m, longest := &ms[i], ""
		if m.Line > 0 {
			continue
		}
		each(root, "", func(name string, n *yaml.Node) {
			rest, within := strings.CutPrefix(m.Field, name)
			if within && len(name) > len(longest) && (rest == "" || rest[0] == '.' || rest[0] == '[') {
				longest, m.Line = name, n.Line
			}
		})
	}
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
