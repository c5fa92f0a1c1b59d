package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq/contrib/firqfleet"
	"github.com/firq-go/firq/firqhttp"
)

// load loads a text, with a file of keys beside it.
func load(t *testing.T, text string) (*Config, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"f.yaml": text, "keys.txt": "# the keys\n\n one \ntwo\n", "none.txt": "# none\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Load(filepath.Join(dir, "f.yaml"), func(name string) (string, bool) { return "secret", name == "PASSWORD" })
}

const least = "upstream: http://127.0.0.1:9000\nlimits: {slots: 8}\n"

func TestExample(t *testing.T) {
	c, err := load(t, Example)
	if err != nil {
		t.Fatal(err)
	}
	if c.Listen != "127.0.0.1:8080" || c.Limits.MaxWait != 30*time.Second || c.WeightOf("gold") != 3 || c.InFlightOf("gold") != 48 || c.InFlightOf("x") != 32 ||
		c.RateOf("gold").Burst != 2000 || c.RateOf("x").PerSecond != 0 {
		t.Errorf("%+v", c)
	}
}

func TestDefaults(t *testing.T) {
	c, err := load(t, least)
	if err != nil {
		t.Fatal(err)
	}
	if c.Listen != DefaultListen || c.Admin != "" || c.Drain != DefaultDrain || c.QuantumOf("x") != 1 {
		t.Errorf("%+v", c)
	}
}

func TestKeys(t *testing.T) {
	c, err := load(t, least+"tenant: [{api_key: {keys_file: keys.txt}}]\n")
	if err != nil {
		t.Fatal(err)
	}
	known := c.Tenant[0].APIKey.Known
	if len(known) != 2 || !known[firqhttp.KeyTenant("one")] || !known[firqhttp.KeyTenant("two")] {
		t.Errorf("%v", known)
	}
}

// TestMistakes: all mistakes of a file, each with its field.
func TestMistakes(t *testing.T) {
	for text, fields := range map[string]string{
		"":         "upstream limits.slots",
		"limits: ": "upstream limits.slots",
		`{listen: nowhere, admin: "8081", upstream: "ftp://x", limits: {slots: -1, waiting: -1, waiting_per_tenant: -2, in_flight_per_tenant: -3, max_wait: -1s}, drain: -1s}`: "listen admin upstream limits.slots limits.waiting limits.waiting_per_tenant limits.in_flight_per_tenant limits.max_wait drain",
		least + `
listen: 127.0.0.1:80
admin: 127.0.0.1:80
skip: [/ok, health]
rate: {per_second: -1, burst: -1, wait: -1s}
tenants: {a: {weight: -1, in_flight: -1, rate: {per_second: 0, burst: 5}}, b: {weight: .nan, rate: {per_second: .nan}}}
cost: {default: -1, header: "a b", response: tokens}
`: "admin skip[1] rate.per_second rate.burst rate.wait tenants.a.weight tenants.a.in_flight tenants.a.rate.burst tenants.b.weight tenants.b.rate.per_second cost.default cost.header cost.response",
		least + `
tenant:
  - {}
  - {header: "X Y"}
  - {header: X, jwt_claim: sub}
  - {path_segments: -1}
  - {remote: {trusted: [10.0.0.0/8, 10.0.0.0]}}
  - {api_key: {}}
  - {api_key: {keys_file: missing.txt}}
  - {api_key: {keys_file: none.txt}}
  - {api_key: {keys_file: keys.txt}}
cost: {response: "header:"}
`: "tenant[0] tenant[1].header tenant[2] tenant[3].path_segments tenant[4].remote.trusted[1] tenant[5].api_key.keys_file tenant[6].api_key.keys_file tenant[7].api_key.keys_file cost.response",
		"upstream: http://u:p@h/?q#f\nlimits: {slots: many, slot: 5}\nupstreams: []\ntenants: {gold: {wait: 3}}\ndrain: 5\n": "limits.slots limits.slot upstreams tenants.gold.wait drain upstream",
		least + "fleet: {redis: \"redis://:${MISSING}@127.0.0.1:6379/0\", name: \"a{b\", lease: 1ms, when_down: sleep}\n":    "fleet.redis fleet.name fleet.lease fleet.when_down",
		least + "fleet: {}\n":                                        "fleet.redis",
		least + "fleet: {redis: \"http://u:secret@h\"}\n":            "fleet.redis",
		least + "fleet:\n  # redis: x\n":                             "fleet",
		least + "---\nlisten: 1\n":                                   "",
		least + "listen: :99999\nadmin: :-1\nskip: [/static/*]\n":    "listen admin skip[0]",
		"upstream: http://h:99999\nlimits: {slots: 8}\n":             "upstream",
		"listen: h:80\nupstream: http://h:80/\nlimits: {slots: 8}\n": "upstream",
		"limits: [}": "",
	} {
		_, err := load(t, text)
		var ms Mistakes
		if !errors.As(err, &ms) {
			t.Errorf("%s\n%v", text, err)
			continue
		}
		var got []string
		for _, m := range ms {
			got = append(got, m.Field)
		}
		want := strings.Fields(fields)
		slices.Sort(got)
		slices.Sort(want)
		if fields != "" && !slices.Equal(got, want) {
			t.Errorf("%s\nfields %v\n  want %v\n%v", text, got, want, err)
		}
		for line := range strings.Lines(err.Error()) {
			if strings.HasPrefix(line, ": ") || strings.Contains(line, "secret") || strings.Contains(line, "slots: 0,") && strings.Contains(text, "many") {
				t.Errorf("%s", line)
			}
		}
	}
	if _, err := Load(filepath.Join(t.TempDir(), "missing"), os.LookupEnv); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestLines: a mistake names the line of its field, or of what the field is missing in; where nothing can be read, there is no other.
func TestLines(t *testing.T) {
	for text, want := range map[string]string{
		"upstream: http://h:9\nlimits:\n  slots: 0\n":                       "limits.slots: line 3: 0, must be 1 to 2097151: how many requests the service serves at a time",
		"upstream: http://h:9\nlimits:\n  waiting: 1\n":                     "limits.slots: line 2: 0, must be 1 to 2097151: how many requests the service serves at a time",
		"\nlimits: {slots: 1}\n":                                            "upstream: is missing: the URL of the service, such as http://127.0.0.1:9000",
		least + "tenants:\n  a.b:\n    weight: 3\n  a:\n    weight: -1\n":   "tenants.a.weight: line 7: -1, must be from 0.001 to 1e6",
		least + "tenant:\n  - remote: {}\n  - header: A\n    remote: {}\n":  "tenant[1]: line 5: has 2 of api_key, header, jwt_claim, path_segments, remote, must have one",
		least + "fleet: {name: \"\",\n redis: \"redis://:${MISSING}@h\"}\n": "fleet.redis: line 4: ${MISSING} is not set in the environment",
		least + "drain: 5\n":                                                "drain: line 3: `5`, must be a duration, such as 30s",
		least + "rate:\n  burst: 1.5\n  per_second: x\n":                    "rate.burst: line 4: `1.5`, must be a whole number\nrate.per_second: line 5: `x`, must be a number",
		least + "skip: /healthz\n":                                          "skip: line 3: `/healthz`, must be a list",
		least + "tenants: [gold]\n":                                         "tenants: line 3: must be NAME: VALUE",
		least + "anonymous: [a]\n":                                          "anonymous: line 3: must be a text",
		least + "drian: 5s\n":                                               "drian: line 3: there is no such field",
		least + "limits: {slots: 5}\n":                                      "limits: line 3: mapping key \"limits\" already defined at line 2",
		"limits:\n  slots: 1\n upstream: x\n":                               "yaml: line 3: did not find expected key",
		least + "fleet: redis://u:secret@h\n":                               "fleet: line 3: `redis:/...`, must be NAME: VALUE",
	} {
		if _, err := load(t, text); err == nil || err.Error() != want {
			t.Errorf("%s\n%v\n%s", text, err, want)
		}
	}
}

// TestQuantum: quanta are in proportion to weights, and near the cost.
func TestQuantum(t *testing.T) {
	for text, want := range map[string][]int64{ // of a, b, and others
		"tenants: {a: {weight: 3}}":                                          {3, 1, 1},
		"tenants: {a: {weight: 0.5}}":                                        {1, 2, 2},
		"tenants: {a: {weight: 1.5}, b: {weight: 0.25}}":                     {6, 1, 4},
		"tenants: {a: {weight: 3}}\ncost: {default: 500}":                    {1500, 500, 500},
		"tenants: {a: {weight: 0.01}, b: {weight: 1}}\ncost: {default: 100}": {1, 100, 100},
	} {
		c, err := load(t, least+text)
		if err != nil {
			t.Fatal(err)
		}
		if got := []int64{c.QuantumOf("a"), c.QuantumOf("b"), c.QuantumOf("c")}; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func TestFleet(t *testing.T) {
	const text = least + "fleet: {redis: \"redis://me:${PASSWORD}@127.0.0.1:6379/3\", lease: 1s, when_down: share}\n"
	c, err := load(t, text)
	if err != nil {
		t.Fatal(err)
	}
	if f := c.Fleet; f.Client.Single.Password != "secret" || f.Client.Single.Username != "me" || f.Client.Single.DB != 3 || f.Client.Single.MaxRetries != -1 || f.Name != "default" || f.Down != firqfleet.Share {
		t.Errorf("%+v", f)
	}
	alone, _ := load(t, least)
	again, _ := load(t, text)
	if ms := Fixed(c, alone); len(ms) != 1 || ms[0].Field != "fleet" {
		t.Errorf("%v", ms)
	}
	if ms := Fixed(c, again); len(ms) > 0 {
		t.Errorf("%v", ms)
	}
}

func TestServers(t *testing.T) {
	for text, want := range map[string]string{
		"redis://a:1/2":                                 "single a:1 2",
		"unix:///tmp/redis?db=1":                        "single /tmp/redis 1",
		"redis://me:a,b@a:1,b:2":                        "cluster [a:1 b:2] me a,b",
		"a:1,b:2":                                       "cluster [a:1 b:2]  ",
		"redis://a:1?addr=b:2":                          "cluster [a:1 b:2]  ",
		"redis+cluster://a:1":                           "cluster [a:1]  ",
		"rediss+cluster://:p@a:1/0":                     "cluster [a:1]  p",
		"redis://:p@a:1,b:2/3?master_name=m":            "sentinel [a:1 b:2] m 3 p",
		"redis://a:1?master_name=m&sentinel_password=s": "sentinel [a:1] m 0 s",
		"a:1":                      "",
		"redis://a:1,b:2/3":        "",
		"redis+cluster://a:1?x=1":  "",
		"http://a:1,b:2":           "",
		"redis://a:1?master_name=": "",
	} {
		c, err := load(t, least+"fleet: {redis: \""+text+"\"}\n")
		if want == "" {
			if err == nil || !strings.Contains(err.Error(), "fleet.redis") || strings.Contains(err.Error(), "a:1,b:2") {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, retries := "", 0
		switch s := c.Fleet.Client; {
		case s.Sentinel != nil:
			got, retries = fmt.Sprint("sentinel ", s.Sentinel.SentinelAddrs, " ", s.Sentinel.MasterName, " ", s.Sentinel.DB, " ", s.Sentinel.Password, s.Sentinel.SentinelPassword), s.Sentinel.MaxRetries
		case s.Cluster != nil:
			got, retries = fmt.Sprint("cluster ", s.Cluster.Addrs, " ", s.Cluster.Username, " ", s.Cluster.Password), s.Cluster.MaxRetries
			if (s.Cluster.TLSConfig != nil) != strings.HasPrefix(text, "rediss") {
				t.Errorf("%s: TLS %v", text, s.Cluster.TLSConfig)
			}
		default:
			got, retries = fmt.Sprint("single ", s.Single.Addr, " ", s.Single.DB), s.Single.MaxRetries
		}
		if got != want || retries != -1 {
			t.Errorf("%s: %q, want %q; %d retries", text, got, want, retries)
		}
		_ = c.Fleet.Client.Open().Close()
	}
}

func TestTrusts(t *testing.T) {
	c, err := load(t, least+"trusted: [10.0.0.0/8, \"fe80::/10\", 192.0.2.7/32]\n")
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[string]bool{
		"10.1.2.3:4": true, "[::ffff:10.1.2.3]:4": true, "[fe80::1%eth0]:4": true, "192.0.2.7:1": true,
		"192.0.2.8:1": false, "[2001:db8::1]:4": false, "@": false, "10.1.2.3": false,
	} {
		if c.Trusts(addr) != want {
			t.Errorf("%s: %t", addr, !want)
		}
	}
	if c, _ := load(t, least); c.Trusts("127.0.0.1:1") {
		t.Error("nobody is named")
	}
	if _, err := load(t, least+"trusted: [10.0.0.1]\n"); err == nil || !strings.HasPrefix(err.Error(), "trusted[0]: ") {
		t.Error(err)
	}
}

func TestFixed(t *testing.T) {
	a, _ := load(t, least)
	b, _ := load(t, "upstream: http://127.0.0.1:9001\nlisten: :1\nadmin: :2\ndrain: 1s\nlimits: {slots: 9, waiting: 1, waiting_per_tenant: 1, max_wait: 1s, in_flight_per_tenant: 1}\n")
	var got []string
	for _, m := range Fixed(a, b) {
		got = append(got, m.Field)
	}
	if !slices.Equal(got, []string{"listen", "admin", "limits.waiting", "limits.waiting_per_tenant", "limits.max_wait"}) {
		t.Errorf("%v", got)
	}
	if ms := Fixed(a, a); len(ms) > 0 {
		t.Errorf("%v", ms)
	}
}
