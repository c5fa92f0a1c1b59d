package lockfree

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestWordPicture compares what the picture of a tenant's word is drawn from with the
// constants.
func TestWordPicture(t *testing.T) {
	text, err := os.ReadFile("../docs/pictures/word.txt")
	if err != nil {
		t.Fatal(err)
	}
	masks := map[string]uint64{
		"tail": ^uint64(tailUnit - 1), "used": usedMask, "room": roomMask, "dead": deadBit, "polled": polledBit,
	}
	low := 64
	for line := range strings.Lines(string(text)) {
		field := strings.Fields(line)
		if len(field) == 0 || field[0] == "#" {
			continue
		}
		bits, err := strconv.Atoi(field[1])
		if err != nil || bits < 1 || bits > low {
			t.Fatalf("%q: not a number of bits that are left", line)
		}
		low -= bits
		drawn := (uint64(1)<<bits - 1) << low
		if mask, ok := masks[field[0]]; !ok || mask != drawn {
			t.Errorf("%s is drawn as %#x, and is %#x", field[0], drawn, mask)
		}
		delete(masks, field[0])
	}
	if low != 0 || len(masks) != 0 {
		t.Errorf("%d bits are not drawn, nor are the fields %v", low, masks)
	}
}
