package page

import (
	"bytes"
	"strings"
	"testing"
)

// A page has the sections that are named, and a name that is unknown is an error that has all.
func TestOnly(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, everything(), []string{"answer", "quiet"}); err != nil {
		t.Fatal(err)
	}
	for title, want := range map[string]bool{"The answer": true, "Queue time of quiet tenants": true, "Latency": false, "Throughput": false, "Environment and commands": true} {
		if strings.Contains(b.String(), ">"+title+"</h2>") != want {
			t.Errorf("%s: want %t", title, want)
		}
	}
	const want = `unknown section "speed"; there are answer, throughput, fairness, rate, latency, quiet`
	if err := Write(&b, nil, []string{"answer", "speed"}); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
