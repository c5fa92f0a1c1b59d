package adapter

import (
	"strconv"
	"strings"
	"time"

	"github.com/firq-go/firq/compute"
)

// CacheStatus returns the member of Cache-Status (RFC 9211) for the cache of this name, and Age in
// whole seconds for what was kept. Empty: there is nothing to say.
func CacheStatus(name string, i compute.Info) (status, age string) {
	switch i.Source {
	case compute.Hit:
		status = "; hit"
	case compute.Stale:
		status = "; hit; detail=stale"
	case compute.Coalesced:
		return item(name) + "; fwd=miss; collapsed", ""
	case compute.Executed:
		return item(name) + "; fwd=miss", ""
	case compute.None:
		return "", ""
	default:
		return "", ""
	}
	return item(name) + status, strconv.FormatInt(int64(max(i.Age, 0)/time.Second), 10)
}

// item returns a name as a structured field has it (RFC 9651): a token if it can be one,
// else a string.
func item(name string) string {
	token := name != ""
	for i, c := range name {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '*'
		if !letter && (i == 0 || (c < '0' || c > '9') && !strings.ContainsRune("!#$%&'+-.^_`|~:/", c)) {
			token = false
		}
	}
	if token {
		return name
	}
	return quoted(name)
}

// quoted returns a name as a string of a structured field, in which what is not printable
// ASCII becomes a question mark.
func quoted(name string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range name {
		switch {
		case c < ' ' || c > '~':
			c = '?'
		case c == '"' || c == '\\':
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	b.WriteByte('"')
	return b.String()
}
