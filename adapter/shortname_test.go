package adapter

import (
	"strings"
	"testing"
	"unsafe"
)

func TestShortName(t *testing.T) {
	long := strings.Repeat("x", MaxName)
	for _, name := range []string{"", "acme", long} {
		if got := ShortName(name); got != name {
			t.Errorf("%q: %q", name, got)
		}
	}
	const want = "sha256:9537c5fdf120482f7d58d25e9ed583f5"
	if got := ShortName(long + "x"); got != want {
		t.Errorf("a byte more: %q, want %q", got, want)
	}
	if ShortName(long+"a") == ShortName(long+"b") {
		t.Error("two long names are one")
	}
	if ShortName(ShortName(long+"a")) != ShortName(long+"a") {
		t.Error("a short name changes")
	}
}

// TestIn: a name that is part of a long text does not keep the text alive.
func TestShortNameIn(t *testing.T) {
	text := "acme" + strings.Repeat(" ", 1000)
	name := ShortNameIn(text, text[:4])
	if name != "acme" || unsafe.StringData(name) == unsafe.StringData(text) {
		t.Errorf("%q is part of the text", name)
	}
	if short := "acme  "; unsafe.StringData(ShortNameIn(short, short[:4])) != unsafe.StringData(short) {
		t.Error("a part of a short text was copied")
	}
}
