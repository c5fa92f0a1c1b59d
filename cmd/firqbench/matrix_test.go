package main

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/cmd/firqbench/internal/matrix"
)

func TestMatrix(t *testing.T) {
	a, b := result(t, 2000, 2001, 2002), result(t, 4000, 4001, 4002)
	code, out, errOut := call(t, "matrix", a, b)
	if code != command.OK || !strings.Contains(out, "baseline-1    3.00 [2.00, 4.00]") {
		t.Errorf("exit code %d\n%s\n%s", code, out, errOut)
	}
	code, out, _ = call(t, "matrix", a, "--subject", "baseline", "--over", "lockfree", "--format", "json")
	var m matrix.Matrix
	if err := json.Unmarshal([]byte(out), &m); code != command.OK || err != nil || len(m.Rows) != 1 || math.Abs(m.Rows[0].Ratios[0].Median-0.5) > 0.01 || strings.Contains(out, "null") {
		t.Errorf("exit code %d, %v\n%s", code, err, out)
	}
	if code, out, _ := call(t, "matrix", a, "--only", "ping_pong"); code != command.OK || !strings.Contains(out, "No file has runs") {
		t.Errorf("--only: exit code %d\n%s", code, out)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, command.Usage, "matrix needs a RESULT"}, {[]string{a, "--format", "csv"}, command.Usage, `--format: "csv"`},
		{[]string{a, "--over", ","}, command.Usage, "--over: is empty"}, {[]string{a, "--only", "none"}, command.Usage, "--only: "}, {[]string{a, "--metric", "speed"}, command.Usage, `--metric: unknown metric "speed"`}, {[]string{a, "--over", "nobody"}, command.Usage, "nobody"},
		{[]string{a, a + ".none"}, command.Failed, a + ".none"},
	} {
		if code, _, errOut := call(t, append([]string{"matrix"}, c.args...)...); code != c.code || !strings.Contains(errOut, c.want) {
			t.Errorf("%v: exit code %d, %s", c.args, code, errOut)
		}
	}
}
