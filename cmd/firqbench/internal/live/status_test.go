package live

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

// counter counts its calls.
type counter struct{ runs, scenarios int }

func (c *counter) Before(int, int, *suite.Cell, string, int) { c.runs++ }
func (c *counter) Scenario([]suite.Cell)                     { c.scenarios++ }

func TestStatus(t *testing.T) {
	var out strings.Builder
	s := NewStatus(&out)
	server := httptest.NewServer(s)
	defer server.Close()
	if _, body := get(t, server, "/"); !strings.Contains(body, "not begun yet") {
		t.Errorf("got\n%s", body)
	}
	var c counter
	s.Observe(&c)
	s.Before(4, 20, &suite.Cell{Scenario: scenario.Scenario{Name: "made_up"}}, "lockfree", 2)
	s.Scenario(nil)
	if _, err := s.Write([]byte("a table <1>\n")); err != nil || out.String() != "a table <1>\n" || c != (counter{1, 1}) {
		t.Errorf("%v, %q, %+v", err, &out, c)
	}
	resp, body := get(t, server, "/")
	for _, want := range []string{"run 5 of 20: made_up, no work, lockfree, round 3", "a table &lt;1&gt;", "debug/pprof/"} {
		if !strings.Contains(body, want) {
			t.Errorf("%q is missing in\n%s", want, body)
		}
	}
	if policy := resp.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") || !strings.HasSuffix(policy, "; frame-ancestors 'none'") {
		t.Errorf("policy %q", policy)
	}
	if resp, _ := get(t, server, "/x"); resp.StatusCode != 404 {
		t.Errorf("%s", resp.Status)
	}
}
