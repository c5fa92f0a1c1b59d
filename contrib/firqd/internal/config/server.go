package config

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// Where is a server as Server names it.
type Where struct {
	Postgres bool
	Redis    Redis // without Postgres
}

// schemes are those of Server, with what they say of a server besides its address.
var schemes = map[string]Where{
	"redis": {}, "rediss": {Redis: Redis{TLS: true}},
	"redis+sentinel": {}, "rediss+sentinel": {Redis: Redis{TLS: true}},
	"redis+cluster": {Redis: Redis{Cluster: true}}, "rediss+cluster": {Redis: Redis{Cluster: true, TLS: true}},
	"postgres": {Postgres: true}, "postgresql": {Postgres: true},
}

// Where returns the server of Server or, without one, that of the block redis, from which the user, the password and the timeout are taken
// where Server does not have them.
func (c *Config) Where() (w Where, err error) {
	if c.Server == "" {
		return Where{Redis: c.Redis}, nil
	}
	scheme, rest, ok := strings.Cut(c.Server, "://")
	w, known := schemes[scheme]
	switch {
	case !ok || !known:
		return w, fmt.Errorf("server: %q, must begin with redis://, rediss://, redis+sentinel://, redis+cluster:// or postgres://", hideURL(c.Server))
	case w.Postgres:
		return w, nil // pgx reads the rest
	}
	if err := w.Redis.read(scheme, rest); err != nil {
		return w, fmt.Errorf("server: %q: %w", hideURL(c.Server), err)
	}
	w.Redis.Timeout = c.Redis.Timeout
	if w.Redis.Password == "" {
		w.Redis.Password = c.Redis.Password
	}
	if w.Redis.Username == "" {
		w.Redis.Username = c.Redis.Username
	}
	return w, nil
}

// read reads [user[:password]@]host[:port][,host[:port]...][/path]. It is not left to url.Parse, which takes one host only.
func (r *Redis) read(scheme, rest string) (err error) {
	if strings.ContainsAny(rest, "?#") {
		return fmt.Errorf("has parameters, and there are none")
	}
	rest, path, _ := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		name, password, _ := strings.Cut(rest[:i], ":")
		rest = rest[i+1:]
		if r.Username, err = url.PathUnescape(name); err == nil {
			r.Password, err = url.PathUnescape(password)
		}
		if err != nil {
			return fmt.Errorf("user and password: an escape is wrong") // and not what it says: it may be of the password
		}
	}
	port, sentinel := "6379", strings.HasSuffix(scheme, "+sentinel")
	if sentinel {
		port = "26379"
	}
	hosts := list(rest)
	for i, h := range hosts {
		if strings.LastIndexByte(h, ':') <= strings.LastIndexByte(h, ']') {
			hosts[i] = h + ":" + port
		}
	}
	r.Addr = strings.Join(hosts, ",")
	if sentinel {
		if r.Master, path, _ = strings.Cut(path, "/"); r.Master == "" {
			return fmt.Errorf("the path must be the name of the master")
		}
	}
	if path != "" {
		if r.DB, err = strconv.Atoi(path); err != nil {
			return fmt.Errorf("the path: %q, must be the number of a database", path)
		}
	}
	switch {
	case len(hosts) == 0:
		return fmt.Errorf("has no host")
	case len(hosts) > 1 && !sentinel && !r.Cluster:
		return fmt.Errorf("has several hosts: use redis+cluster:// or redis+sentinel://")
	}
	return nil
}

// Place names the server for messages, without a password.
func (c *Config) Place() string {
	if c.Server == "" {
		return c.Redis.Addr
	}
	return hideURL(c.Server)
}

// hideURL returns an address of a server without the password in it.
func hideURL(text string) string {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		scheme, rest = "", text
	} else {
		scheme += "://"
	}
	rest, query, asks := strings.Cut(rest, "?")
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		if name, _, ok := strings.Cut(rest[:i], ":"); ok {
			rest = name + ":" + hidden + rest[i:]
		}
	}
	if asks {
		all := strings.Split(query, "&")
		for i, p := range all {
			if name, _, ok := strings.Cut(p, "="); ok && strings.Contains(strings.ToLower(name), "password") {
				all[i] = name + "=" + hidden
			}
		}
		rest += "?" + strings.Join(all, "&")
	}
	return scheme + rest
}
