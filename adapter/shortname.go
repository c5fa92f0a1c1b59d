package adapter

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// MaxName is the longest name of a tenant, in bytes, that stays as it is.
const MaxName = 64

// ShortName returns a name of at most MaxName bytes as it is; for a longer one "sha256:" and
// the first 16 bytes of its SHA-256 in hexadecimal.
func ShortName(name string) string {
	if len(name) <= MaxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return "sha256:" + hex.EncodeToString(sum[:16])
}

// ShortNameIn is ShortName for a name that is part of a text: the result does not keep a long text
// in memory.
func ShortNameIn(text, name string) string {
	if len(name) <= MaxName && len(text) > MaxName {
		return strings.Clone(name)
	}
	return ShortName(name)
}
