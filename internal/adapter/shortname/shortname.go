// Package shortname bounds the names of tenants that firqhttp and firqgrpc take
// from requests: whoever can send a request can send a name of a megabyte, and a
// gate remembers the tenants that had to wait.
package shortname

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Max is the longest name, in bytes, that stays as it is.
const Max = 64

// Of returns a name of at most Max bytes as it is; for a longer one "sha256:" and
// the first 16 bytes of its SHA-256 in hexadecimal.
func Of(name string) string {
	if len(name) <= Max {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return "sha256:" + hex.EncodeToString(sum[:16])
}

// In is Of for a name that is part of a text: the result does not keep a long text
// in memory.
func In(text, name string) string {
	if len(name) <= Max && len(text) > Max {
		return strings.Clone(name)
	}
	return Of(name)
}
