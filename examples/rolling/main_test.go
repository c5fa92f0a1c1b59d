package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/firq-go/firq/examples/internal/nodes"
)

// The test starts its own binary where the program starts itself.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == nodes.Flag {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// All processes are replaced, no call fails, and none is counted twice.
func TestRolling(t *testing.T) {
	r := rolling{counters: 20, callers: 4, quiet: 50 * time.Millisecond}
	var out strings.Builder
	if err := r.play(t.Context(), &out); err != nil {
		t.Fatal(err, out.String())
	}
	var calls, failed, counted int
	_, last, _ := strings.Cut(out.String(), "\n  ")
	if _, err := fmt.Sscanf(last, "calls %d, failed %d, counted %d", &calls, &failed, &counted); err != nil {
		t.Fatal(err, out.String())
	}
	if len(r.replaced) != processes || calls == 0 || failed != 0 || counted != calls {
		t.Error(out.String())
	}
	picture := string(r.draw())
	lines := 0
	for d := xml.NewDecoder(strings.NewReader(picture)); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "polyline" {
			lines++
		}
	}
	if lines != 3 || strings.Count(picture, ">process ") != processes || strings.Contains(picture, "NaN") {
		t.Error(picture)
	}
}
