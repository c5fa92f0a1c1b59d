package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"
	"go.yaml.in/yaml/v4"
)

// Load returns the defaults, overridden by the file (if path is not ""), and that by the
// environment. The caller calls Check after it has added its flags.
func Load(path string, environment map[string]string) (Config, error) {
	c := Default()
	if path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return c, err
		}
		if err := c.readYAML(text); err != nil {
			return c, fmt.Errorf("%s: %w", path, err)
		}
	}
	err := c.readEnv(environment)
	c.fill()
	return c, err
}

// fill replaces each 0 that means the default by that default, so that the values shown are those in force.
func (c *Config) fill() {
	d, q := Default().Queue, &c.Queue
	q.Name = cmp.Or(q.Name, d.Name)
	c.Postgres.Schema = cmp.Or(c.Postgres.Schema, Default().Postgres.Schema)
	q.Lease, q.MaxAttempts, q.MaxPayload = cmp.Or(q.Lease, d.Lease), cmp.Or(q.MaxAttempts, d.MaxAttempts), cmp.Or(q.MaxPayload, d.MaxPayload)
	q.TenantIdle = cmp.Or(q.TenantIdle, d.TenantIdle)
	q.Backoff.First, q.Backoff.Max = cmp.Or(q.Backoff.First, d.Backoff.First), cmp.Or(q.Backoff.Max, d.Backoff.Max)
	q.Backoff.Factor = cmp.Or(q.Backoff.Factor, d.Backoff.Factor)
	q.DeadLetters.PerTenant = cmp.Or(q.DeadLetters.PerTenant, d.DeadLetters.PerTenant)
	q.DeadLetters.For = cmp.Or(q.DeadLetters.For, d.DeadLetters.For)
}

// readYAML reads one document. An unknown field is an error.
func (c *Config) readYAML(text []byte) error {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	err := d.Decode(c)
	if errors.Is(err, io.EOF) {
		return nil // an empty file
	}
	if err != nil {
		return named(err, text)
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one document, or the end cannot be read")
	}
	return nil
}

// named adds the names of fields to errors about fields: the YAML package names lines only.
func named(err error, text []byte) error {
	var many *yaml.LoadErrors
	var root yaml.Node
	if !errors.As(err, &many) || yaml.Unmarshal(text, &root) != nil {
		return err
	}
	var all []error
	for _, e := range many.Errors {
		if name := fieldAt(&root, "", e.Mark.Line, e.Mark.Column); name != "" {
			all = append(all, fmt.Errorf("%s: line %d: %s", name, e.Mark.Line, e.Message))
		} else {
			all = append(all, fmt.Errorf("line %d: %s", e.Mark.Line, e.Message))
		}
	}
	return errors.Join(all...)
}

// fieldAt returns the path of the field whose value, or key, is at a position of the file; "" if there is none.
func fieldAt(n *yaml.Node, name string, line, column int) string {
	if n.Kind != yaml.MappingNode {
		if n.Line == line && n.Column == column {
			return name
		}
		for _, in := range n.Content {
			if found := fieldAt(in, name, line, column); found != "" {
				return found
			}
		}
		return ""
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		full := strings.TrimPrefix(name+"."+key.Value, ".")
		if key.Line == line && key.Column == column {
			return full
		}
		if found := fieldAt(value, full, line, column); found != "" {
			return found
		}
	}
	if n.Line == line && n.Column == column {
		return name
	}
	return ""
}

// readEnv reads the variables. An empty one counts as not set.
func (c *Config) readEnv(environment map[string]string) error {
	options := env.Options{Environment: environment, Prefix: Prefix}
	err := env.ParseWithOptions(c, options)
	if err == nil {
		return nil
	}
	fields, listErr := env.GetFieldParamsWithOptions(c, options)
	if listErr != nil {
		return err
	}
	for _, f := range fields { // the error does not say whose it is: try one at a time
		value, ok := environment[f.Key]
		if !ok {
			continue
		}
		var other Config
		options.Environment = map[string]string{f.Key: value}
		if env.ParseWithOptions(&other, options) != nil {
			return fmt.Errorf("%s: %q, must be %s", f.Key, value, kind(&other, f.Key))
		}
	}
	return err
}

// Unknown returns the variables with our prefix that no field has, in order: they may be mistyped.
func Unknown(environment map[string]string) (names []string) {
	var c Config
	fields, err := env.GetFieldParamsWithOptions(&c, env.Options{Prefix: Prefix})
	if err != nil {
		return nil // it cannot be: Load reads the same fields
	}
	known := map[string]bool{Prefix + "CONFIG": true}
	for _, f := range fields {
		known[f.Key] = true
	}
	for name := range environment {
		if strings.HasPrefix(name, Prefix) && !known[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// kind returns the type that a variable has to have, in words.
func kind(c *Config, key string) string {
	for _, k := range []struct{ value, name string }{{"1s", "a duration such as 30s"}, {"0.5", "a number"}, {"1", "a whole number"}} {
		if env.ParseWithOptions(c, env.Options{Environment: map[string]string{key: k.value}, Prefix: Prefix}) == nil {
			if k.value == "1" && env.ParseWithOptions(c, env.Options{Environment: map[string]string{key: "true"}, Prefix: Prefix}) == nil {
				return "true or false"
			}
			return k.name
		}
	}
	return "something else"
}
