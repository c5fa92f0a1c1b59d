package firqprom_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const dashboardFile = "dashboards/firq.json"

// dashboard is what of a Grafana dashboard the tests look at.
type dashboard struct {
	Title      string `json:"title"`
	UID        string `json:"uid"`
	Panels     []panel
	Templating struct{ List []variable }
}

type variable struct {
	Name, Type string
	Query      json.RawMessage
	Datasource *datasource
	AllValue   string `json:"allValue"`
}

// values returns the selector and the label that a variable is filled from.
func (v *variable) values(t *testing.T) (selector, label string) {
	t.Helper()
	var q struct{ Query string }
	if err := json.Unmarshal(v.Query, &q); err != nil {
		t.Fatalf("variable %s: %v", v.Name, err)
	}
	m := labelValues.FindStringSubmatch(q.Query)
	if m == nil {
		t.Fatalf("variable %s: %s", v.Name, q.Query)
	}
	return m[1], m[2]
}

type datasource struct{ Type, UID string }

type panel struct {
	ID                 int
	Type               string
	Title, Description string
	Datasource         *datasource
	GridPos            struct{ X, Y, W, H int } `json:"gridPos"`
	FieldConfig        struct {
		Defaults struct{ Unit string }
	} `json:"fieldConfig"`
	Targets []struct {
		RefID        string `json:"refId"`
		Expr         string
		LegendFormat string `json:"legendFormat"`
		Datasource   *datasource
	}
	Panels []panel
}

func readDashboard(t *testing.T) *dashboard {
	t.Helper()
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	d := new(dashboard)
	if err := json.Unmarshal(text, d); err != nil {
		t.Fatal(err)
	}
	if len(d.Panels) == 0 {
		t.Fatal("no panels")
	}
	return d
}

// graphs returns the panels that show something: all but the rows.
func (d *dashboard) graphs() []panel {
	return slices.DeleteFunc(slices.Clone(d.Panels), func(p panel) bool { return p.Type == "row" })
}

// fill replaces what Grafana would: the variables, with All chosen.
func fill(expr string) string {
	return strings.NewReplacer(
		"$__rate_interval", "5s",
		"$job", "classic",
		"$instance", ".*",
		"$scheduler", ".*",
	).Replace(expr)
}

var metricName = regexp.MustCompile(`\bfirq_\w+`)

func TestDashboardPanels(t *testing.T) {
	exported := map[string]bool{}
	for line := range strings.Lines(exposition + gateExposition + trafficExposition + poolExposition + watchdogExposition + redisExposition + computeExposition + actorExposition + clusterExposition) {
		exported[metricName.FindString(line)] = true
	}
	d := readDashboard(t)
	if d.Title == "" || d.UID == "" {
		t.Error("the dashboard has no title, or no uid")
	}
	used, ids := map[string]bool{}, map[int]bool{}
	for _, p := range d.Panels {
		if p.ID == 0 || ids[p.ID] {
			t.Errorf("panel %q: id %d is 0 or taken", p.Title, p.ID)
		}
		ids[p.ID] = true
		if p.Title == "" {
			t.Errorf("panel %d has no title", p.ID)
		}
		if len(p.Panels) != 0 {
			t.Errorf("row %q is collapsed: the panels in it are not looked at", p.Title)
		}
	}
	for _, p := range d.graphs() {
		checkPanel(t, p)
		for _, target := range p.Targets {
			for _, name := range metricName.FindAllString(target.Expr, -1) {
				used[name] = true
				if !exported[name] {
					t.Errorf("panel %q: there is no metric %s", p.Title, name)
				}
			}
		}
	}
	// Every metric is on a panel, but for the total of what the panels show by
	// reason, and the histogram, whose buckets are.
	for name := range exported {
		part := strings.HasPrefix(name, "firq_queue_time_ns") || strings.HasPrefix(name, "firq_pool_handler_duration_seconds") || strings.HasPrefix(name, "firq_compute_exec_seconds") || strings.HasPrefix(name, "firq_actor_wait_seconds") || strings.HasPrefix(name, "firq_cluster_call_seconds") || strings.HasPrefix(name, "firq_cluster_activation_seconds") || strings.HasPrefix(name, "firq_queue_queue_seconds") || name == "firq_dropped_total" || name == ""
		if !used[name] && !part {
			t.Errorf("no panel shows %s", name)
		}
	}
}

func checkPanel(t *testing.T, p panel) {
	t.Helper()
	if !strings.HasSuffix(p.Description, ".") {
		t.Errorf("panel %q: description %q is not a sentence", p.Title, p.Description)
	}
	if p.FieldConfig.Defaults.Unit == "" {
		t.Errorf("panel %q has no unit", p.Title)
	}
	if len(p.Targets) == 0 {
		t.Errorf("panel %q has no query", p.Title)
	}
	refs := map[string]bool{}
	for _, target := range p.Targets {
		if target.RefID == "" || refs[target.RefID] {
			t.Errorf("panel %q: refId %q is empty or taken", p.Title, target.RefID)
		}
		refs[target.RefID] = true
		if target.LegendFormat == "" {
			t.Errorf("panel %q: query %s has no legend", p.Title, target.RefID)
		}
		for _, ds := range []*datasource{p.Datasource, target.Datasource} {
			if ds == nil || *ds != (datasource{"prometheus", "${datasource}"}) {
				t.Errorf("panel %q: the data source is not the variable but %v", p.Title, ds)
			}
		}
		for _, at := range metricName.FindAllStringIndex(target.Expr, -1) {
			filter := `{job=~"$job", instance=~"$instance"`
			if name := target.Expr[at[0]:at[1]]; !strings.HasPrefix(name, "firq_watchdog_") { // of a process, not of a scheduler
				filter += `, scheduler=~"$scheduler"`
			}
			if rest := target.Expr[at[1]:]; !strings.HasPrefix(rest, filter+"}") && !strings.HasPrefix(rest, filter+", reason!~") {
				t.Errorf("panel %q: a selector without the filters %s: %s", p.Title, filter, target.Expr)
			}
		}
		if strings.Contains(fill(target.Expr), "$") {
			t.Errorf("panel %q: unknown variable in %s", p.Title, target.Expr)
		}
	}
}

// Panels neither overlap nor stick out of the 24 columns.
func TestDashboardGrid(t *testing.T) {
	taken := map[[2]int]string{}
	for _, p := range readDashboard(t).Panels {
		g := p.GridPos
		if g.W < 1 || g.H < 1 || g.X < 0 || g.Y < 0 || g.X+g.W > 24 {
			t.Errorf("panel %q sticks out: %+v", p.Title, g)
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other, ok := taken[[2]int{x, y}]; ok {
					t.Fatalf("panels %q and %q overlap", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
}

var labelValues = regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)

func TestDashboardVariables(t *testing.T) {
	d := readDashboard(t)
	var names []string
	for _, v := range d.Templating.List {
		names = append(names, v.Name)
		if v.Type == "datasource" {
			if string(v.Query) != `"prometheus"` {
				t.Errorf("the variable datasource offers %s", v.Query)
			}
			continue
		}
		selector, label := v.values(t)
		if v.Type != "query" || label != v.Name {
			t.Errorf("variable %s of type %s is filled from the label %s", v.Name, v.Type, label)
		}
		// A process may export only one of the parts.
		for _, part := range []string{"firq_enqueued", "firq_requests_", "firq_pool_", "firq_watchdog_", "firq_queue_up", "firq_compute_", "firq_actor_", "firq_cluster_"} {
			if !strings.Contains(selector, part) {
				t.Errorf("variable %s: a process that exports only %s is not found", v.Name, part)
			}
		}
		if v.Datasource == nil || v.Datasource.UID != "${datasource}" {
			t.Errorf("variable %s: the data source is not the variable", v.Name)
		}
		if v.AllValue != ".*" { // which a series without the label matches too
			t.Errorf("variable %s: All is %q", v.Name, v.AllValue)
		}
	}
	if want := []string{"datasource", "job", "instance", "scheduler"}; !slices.Equal(names, want) {
		t.Errorf("variables %v, want %v", names, want)
	}
}
