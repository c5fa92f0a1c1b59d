package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.yaml.in/yaml/v4"

	"github.com/firq-go/firq/queue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "firq.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Defaults, then the file, then the environment.
func TestOrder(t *testing.T) {
	path := file(t, "redis:\n  addr: a:1\n  db: 3\nqueue:\n  name: mail\n  lease: 10s\n  backoff: {first: 2s}\n  dead_letters: {for: -1s}\nserve:\n  schedules: false\n")
	c, err := Load(path, map[string]string{"FIRQ_REDIS_ADDR": "b:2", "FIRQ_QUEUE_BACKOFF_MAX": "1m", "FIRQ_QUEUE_NAME": "", "FIRQ_SERVE_TOP": "5", "FIRQ_OTHER": "x"})
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Redis.Addr, want.Redis.DB, want.Queue.Name, want.Queue.Lease = "b:2", 3, "mail", 10*time.Second
	want.Queue.Backoff.First, want.Queue.Backoff.Max = 2*time.Second, time.Minute
	want.Queue.DeadLetters.For, want.Serve.Schedules, want.Serve.Top = -time.Second, false, 5
	if c != want {
		t.Errorf("got %+v\nwant %+v", c, want)
	}
	if err := c.Check(); err != nil {
		t.Error(err)
	}
	q := OnRedis[[]byte](&c, nil, nil)
	if q.Name != "mail" || q.Partitions != 1 || q.Lease != 10*time.Second || q.Backoff.Max != time.Minute || q.DeadLetters != (queue.Retention{PerTenant: 10_000, For: -time.Second}) {
		t.Errorf("%+v", q)
	}
}

func TestEmptyFile(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "redis: {}\n"} {
		if c, err := Load(file(t, text), nil); err != nil || c != Default() {
			t.Errorf("%q: %+v, %v", text, c, err)
		}
	}
}

// Every field of a file and of the environment that is wrong is named.
func TestLoadErrors(t *testing.T) {
	for _, c := range []struct{ text, variable, value, want string }{
		{text: "redis: {adr: x}", want: "adr"},
		{text: "queue: {lease: 30}", want: "Duration"},
		{text: "queue: {lease: 30}", want: "queue.lease: line 1: "},
		{text: "queue: {max_attempts: many}", want: "many"},
		{text: "queue:\n  backoff:\n    factor: x\n  name: [a]", want: "queue.backoff.factor: line 3: "},
		{text: "queue:\n  backoff:\n    factor: x\n  name: [a]", want: "queue.name: line 4: "},
		{text: "queue: 5", want: "queue: line 1: "},
		{text: "rediss: {}", want: "rediss"},
		{text: "redis: [", want: "firq.yaml"},
		{text: "redis: {}\n---\nredis: {}", want: "more than one document"},
		{variable: "FIRQ_QUEUE_LEASE", value: "soon", want: `FIRQ_QUEUE_LEASE: "soon", must be a duration`},
		{variable: "FIRQ_QUEUE_BACKOFF_MAX", value: "5", want: `FIRQ_QUEUE_BACKOFF_MAX: "5", must be a duration`},
		{variable: "FIRQ_REDIS_DB", value: "one", want: `FIRQ_REDIS_DB: "one", must be a whole number`},
		{variable: "FIRQ_QUEUE_BACKOFF_FACTOR", value: "z", want: `FIRQ_QUEUE_BACKOFF_FACTOR: "z", must be a number`},
		{variable: "FIRQ_REDIS_TLS", value: "maybe", want: `FIRQ_REDIS_TLS: "maybe", must be true or false`},
	} {
		_, err := Load(file(t, c.text), map[string]string{c.variable: c.value})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q %s=%s: %v, want %q", c.text, c.variable, c.value, err, c.want)
		}
	}
	if _, err := Load(filepath.Join(t.TempDir(), "no"), nil); err == nil {
		t.Error("a file that there is not")
	}
}

// What is 0 where that means the default is shown as the default: that is in force.
func TestZerosAreDefaults(t *testing.T) {
	c, err := Load(file(t, "queue: {name: '', lease: 0s, max_attempts: 0, max_payload: 0, tenant_idle: 0s, backoff: {first: 0s, max: 0s, factor: 0}, dead_letters: {per_tenant: 0, for: 0s}}"),
		map[string]string{"FIRQ_QUEUE_LEASE": "0s"})
	if err != nil || c != Default() {
		t.Errorf("%+v, %v", c, err)
	}
}

// A variable that nothing reads is perhaps a mistake in its name.
func TestUnknown(t *testing.T) {
	got := Unknown(map[string]string{"FIRQ_REDIS_ADRR": "x", "FIRQ_CONFIG": "x", "FIRQ_QUEUE_BACKOFF_MAX": "1s", "FIRQ_QUEUE_": "", "HOME": "/", "FIRQREDIS_FAULTS": "1"})
	if strings.Join(got, " ") != "FIRQ_QUEUE_ FIRQ_REDIS_ADRR" {
		t.Errorf("%q", got)
	}
}

func TestCheck(t *testing.T) {
	if d := Default(); d.Check() != nil {
		t.Fatal(d.Check())
	}
	for want, change := range map[string]func(*Config){
		"redis.addr: is empty":                        func(c *Config) { c.Redis.Addr = " , " },
		`redis.addr: "a:1,b"`:                         func(c *Config) { c.Redis.Addr = "a:1,b" },
		"redis.db: -1":                                func(c *Config) { c.Redis.DB = -1 },
		"redis.db: 1, ":                               func(c *Config) { c.Redis.DB, c.Redis.Cluster = 1, true },
		"redis.master and redis.cluster":              func(c *Config) { c.Redis.Master, c.Redis.Cluster = "m", true },
		"redis.timeout: 0s":                           func(c *Config) { c.Redis.Timeout = 0 },
		`serve.listen: "8379"`:                        func(c *Config) { c.Serve.Listen = "8379" },
		"serve.token: 5 bytes":                        func(c *Config) { c.Serve.Token = "short" },
		"serve.top: -1":                               func(c *Config) { c.Serve.Top = -1 },
		"queue.partitions: -1":                        func(c *Config) { c.Queue.Partitions = -1 },
		"queue.partitions: 5000":                      func(c *Config) { c.Queue.Partitions = 5000 },
		"queue.lease: -1":                             func(c *Config) { c.Queue.Lease = -time.Second },
		"queue.name: \"a{b\"":                         func(c *Config) { c.Queue.Name = "a{b" },
		"queue.max_queued_per_tenant: -1":             func(c *Config) { c.Queue.MaxQueuedPerTenant = -1 },
		"queue.backoff.factor: 0.5":                   func(c *Config) { c.Queue.Backoff.Factor = 0.5 },
		"queue.rate_per_tenant.per_second: -1, must":  func(c *Config) { c.Queue.RatePerTenant.PerSecond = -1 },
		"queue.max_in_flight: 1, must be at least":    func(c *Config) { c.Queue.MaxInFlight, c.Queue.Partitions = 1, 2 },
		"queue.wait_replicas: -1, must not be":        func(c *Config) { c.Queue.WaitReplicas = -1 },
		"serve.listen: \"http://x:80\"":               func(c *Config) { c.Serve.Listen = "http://x:80" },
		"queue.priority_aging: 1ns, must be at least": func(c *Config) { c.Queue.PriorityAging = 1 },
	} {
		c := Default()
		change(&c)
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// What is shown has no secrets, and can be read again.
func TestShown(t *testing.T) {
	c := Default()
	c.Redis.Password, c.Serve.Token = "hunter2hunter2hunter2", "a token of a page"
	text, err := c.YAML()
	if err != nil || strings.Contains(string(text), "hunter2") || strings.Contains(string(text), "token of") || !strings.Contains(string(text), "lease: 30s") {
		t.Fatalf("%s, %v", text, err)
	}
	var again Config
	if err := again.readYAML(text); err != nil || again != c.Shown() {
		t.Errorf("%+v, %v", again, err)
	}
	if c.Redis.Password == hidden {
		t.Error("Shown has changed the configuration")
	}
	if yaml.Unmarshal(text, &again) != nil {
		t.Error("no YAML")
	}
}

// A URL says all that the block redis says.
func TestServer(t *testing.T) {
	base := Default().Redis
	for text, want := range map[string]Redis{
		"redis://localhost":                      {Addr: "localhost:6379"},
		"redis://u:p%40@h:1/3":                   {Addr: "h:1", Username: "u", Password: "p@", DB: 3},
		"redis://:p@[::1]":                       {Addr: "[::1]:6379", Password: "p"},
		"rediss://h":                             {Addr: "h:6379", TLS: true},
		"redis+cluster://a:1,b:2":                {Addr: "a:1,b:2", Cluster: true},
		"redis+cluster://a":                      {Addr: "a:6379", Cluster: true},
		"rediss+sentinel://u:p@a,b:2/mymaster/4": {Addr: "a:26379,b:2", Username: "u", Password: "p", Master: "mymaster", DB: 4, TLS: true},
	} {
		c := Default()
		c.Server = text
		want.Timeout = base.Timeout
		if w, err := c.Where(); err != nil || w.Postgres || w.Redis != want || c.Check() != nil {
			t.Errorf("%s: %+v, %v, %v", text, w, err, c.Check())
		}
	}
	for text, want := range map[string]string{
		"redis://": "has no host", "redis://a,b": "several hosts", "redis+sentinel://a": "name of the master", "redis://h/x": "number of a database",
		"redis://h?x=1": "has parameters", "localhost:6379": "must begin with", "redis+cluster://a/1": "redis.db", "redis://u:%zz@h": "an escape is wrong",
		"postgres://h:port/x": "server:", "redis://h:": "host:port",
	} {
		c := Default()
		c.Server = text
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "%zz") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	c := Default() // what the URL does not have
	c.Server, c.Redis.Password = "redis://h", "secret"
	if w, _ := c.Where(); w.Redis.Password != "secret" {
		t.Errorf("%+v", w)
	}
	for text, want := range map[string]string{
		"postgres://u:p@h/x?sslmode=disable&password=q": "postgres://u:(set)@h/x?sslmode=disable&password=(set)", "redis://h": "redis://h", "u:p@h": "u:(set)@h",
	} {
		if c.Server = text; c.Shown().Server != want || c.Place() != want {
			t.Errorf("%s is shown as %s", text, c.Shown().Server)
		}
	}
}
