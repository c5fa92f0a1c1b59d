package seen

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := New("waited")
		early := table.Queued()
		for range 3 {
			table.Started("noisy", table.Queued())
		}
		time.Sleep(1500 * time.Microsecond)
		table.Started("quiet", early)
		if table.Count("noisy") != 3 || table.Count("quiet") != 1 || table.Count("nobody") != 0 {
			t.Errorf("counts %d %d", table.Count("noisy"), table.Count("quiet"))
		}
		if table.Ahead("noisy") != 0 || table.Ahead("quiet") != 3 || table.Ahead("nobody") != 0 {
			t.Errorf("ahead %d %d", table.Ahead("noisy"), table.Ahead("quiet"))
		}
		var out strings.Builder
		if err := table.Print(&out, "title"); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(out.String(), "\n")
		if lines[0] != "title" || !strings.Contains(lines[2], "noisy") || !strings.Contains(lines[3], "1.5ms") {
			t.Errorf("%s", out.String())
		}
	})
}
