package firqprom_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

const rulesDir = "rules"

// promtool checks the rules, and runs the unit tests of the alerts.
func TestRules(t *testing.T) {
	promtool := program(t, "promtool")
	for _, args := range [][]string{
		{"check", "rules", "firq.rules.yml"},
		{"test", "rules", "firq.rules.test.yml"},
	} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = rulesDir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// Each alert has a unit test in which it fires.
func TestRulesAreTested(t *testing.T) {
	rules, err := os.ReadFile(rulesDir + "/firq.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile(rulesDir + "/firq.rules.test.yml")
	if err != nil {
		t.Fatal(err)
	}
	alerts := 0
	for line := range strings.Lines(string(rules)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "- alert: "); ok {
			alerts++
			if !strings.Contains(string(tests), "alertname: "+name+"\n        exp_alerts:\n          - exp_labels:") {
				t.Errorf("no test in which %s fires", name)
			}
		}
	}
	if alerts == 0 {
		t.Error("no alerts")
	}
}
