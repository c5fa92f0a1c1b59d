// Package config is the configuration of programs that use a queue: one struct, filled from defaults, then a
// YAML file, then environment variables. What a program's flags say comes last and is the program's.
package config

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"go.yaml.in/yaml/v4"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/contrib/firqpg"
	"github.com/firq-go/firq/contrib/firqredis"
	"github.com/firq-go/firq/queue"
	"github.com/firq-go/firq/rate"
)

// Prefix begins the names of all environment variables.
const Prefix = "FIRQ_"

// Config is all of it. A field's variable is Prefix, its group and its name: FIRQ_REDIS_ADDR.
type Config struct {
	Server   string   `yaml:"server" env:"SERVER"` // a URL, see Where; "": redis says where it is
	Redis    Redis    `yaml:"redis" envPrefix:"REDIS_"`
	Postgres Postgres `yaml:"postgres" envPrefix:"POSTGRES_"`
	Queue    Queue    `yaml:"queue" envPrefix:"QUEUE_"`
	Serve    Serve    `yaml:"serve" envPrefix:"SERVE_"`
}

// Postgres says what Server does not of a queue in PostgreSQL.
type Postgres struct {
	Schema   string `yaml:"schema" env:"SCHEMA"`       // that has the tables
	NoListen bool   `yaml:"no_listen" env:"NO_LISTEN"` // as firqpg.Config
}

// Redis says where the server is.
type Redis struct {
	Addr     string        `yaml:"addr" env:"ADDR"`         // host:port; several with commas: a cluster, or Sentinels if there is a Master
	Master   string        `yaml:"master" env:"MASTER"`     // the name that Sentinels know
	Cluster  bool          `yaml:"cluster" env:"CLUSTER"`   // also if there is one Addr
	Username string        `yaml:"username" env:"USERNAME"` // "": the default user
	Password string        `yaml:"password" env:"PASSWORD"`
	DB       int           `yaml:"db" env:"DB"`
	TLS      bool          `yaml:"tls" env:"TLS"`
	Timeout  time.Duration `yaml:"timeout" env:"TIMEOUT"` // of a connection attempt, and of a reply
}

// Queue is the Config of an engine, as far as it can be written down.
type Queue struct {
	Name                 string        `yaml:"name" env:"NAME"`
	Partitions           int           `yaml:"partitions" env:"PARTITIONS"` // 0: as many as the queue has; of a new one, 1
	Lease                time.Duration `yaml:"lease" env:"LEASE"`
	MaxAttempts          int           `yaml:"max_attempts" env:"MAX_ATTEMPTS"`
	Backoff              Backoff       `yaml:"backoff" envPrefix:"BACKOFF_"`
	MaxQueued            int           `yaml:"max_queued" env:"MAX_QUEUED"`
	MaxQueuedPerTenant   int           `yaml:"max_queued_per_tenant" env:"MAX_QUEUED_PER_TENANT"`
	MaxInFlight          int           `yaml:"max_in_flight" env:"MAX_IN_FLIGHT"`
	MaxInFlightPerTenant int           `yaml:"max_in_flight_per_tenant" env:"MAX_IN_FLIGHT_PER_TENANT"`
	RatePerTenant        Rate          `yaml:"rate_per_tenant" envPrefix:"RATE_PER_TENANT_"`
	PriorityAging        time.Duration `yaml:"priority_aging" env:"PRIORITY_AGING"`
	MaxPayload           int           `yaml:"max_payload" env:"MAX_PAYLOAD"`
	DeadLetters          Retention     `yaml:"dead_letters" envPrefix:"DEAD_LETTERS_"`
	WaitReplicas         int           `yaml:"wait_replicas" env:"WAIT_REPLICAS"`
	TenantIdle           time.Duration `yaml:"tenant_idle" env:"TENANT_IDLE"`
	Linger               time.Duration `yaml:"linger" env:"LINGER"`
}

// Backoff is queue.Backoff.
type Backoff struct {
	First    time.Duration `yaml:"first" env:"FIRST"`
	Max      time.Duration `yaml:"max" env:"MAX"`
	Factor   float64       `yaml:"factor" env:"FACTOR"`
	NoJitter bool          `yaml:"no_jitter" env:"NO_JITTER"`
}

// Rate is rate.Limit.
type Rate struct {
	PerSecond float64 `yaml:"per_second" env:"PER_SECOND"`
	Burst     int64   `yaml:"burst" env:"BURST"`
}

// Retention is queue.Retention.
type Retention struct {
	PerTenant int           `yaml:"per_tenant" env:"PER_TENANT"`
	For       time.Duration `yaml:"for" env:"FOR"`
}

// Serve is the configuration of firqd serve.
type Serve struct {
	Listen    string `yaml:"listen" env:"LISTEN"`       // host:port; without a host, this machine only
	Hosts     string `yaml:"hosts" env:"HOSTS"`         // names that the pages may be asked by besides those of the loopback interface, with commas
	Token     string `yaml:"token" env:"TOKEN"`         // "": a new one with each start
	Schedules bool   `yaml:"schedules" env:"SCHEDULES"` // queue the tasks of schedules
	Top       int    `yaml:"top" env:"TOP"`             // how many tenants the page and the metrics name
}

// minToken is how many bytes a token of one's own has at least.
const minToken = 16

// Default returns the default configuration.
func Default() Config {
	return Config{
		Redis:    Redis{Addr: "localhost:6379", Timeout: 5 * time.Second},
		Postgres: Postgres{Schema: firqpg.DefaultSchema},
		Queue: Queue{
			Name: queue.DefaultName, Lease: queue.DefaultLease, MaxAttempts: queue.DefaultMaxAttempts,
			Backoff:     Backoff{First: queue.DefaultBackoffFirst, Max: queue.DefaultBackoffMax, Factor: 2},
			MaxPayload:  queue.DefaultMaxPayload,
			DeadLetters: Retention{PerTenant: queue.DefaultDeadLettersPerTenant, For: queue.DefaultDeadLettersFor},
			TenantIdle:  queue.DefaultTenantIdle,
		},
		Serve: Serve{Listen: "localhost:8379", Schedules: true, Top: 10},
	}
}

// Check returns an error that names the first field that cannot be.
func (c *Config) Check() error {
	w, err := c.Where()
	switch {
	case err != nil:
		return err
	case c.Redis.Timeout <= 0:
		return fmt.Errorf("redis.timeout: %v, must be positive", c.Redis.Timeout)
	case w.Postgres:
		err = c.checkPostgres()
	default:
		if err = w.Redis.check(); err != nil && c.Server != "" {
			err = fmt.Errorf("server: %q: %w", hideURL(c.Server), err)
		}
	}
	if err != nil {
		return err
	}
	return c.checkRest()
}

func (c *Config) checkPostgres() error {
	if _, err := pgxpool.ParseConfig(c.Server); err != nil { // it hides the password
		return fmt.Errorf("server: %w", err)
	}
	_, err := firqpg.MigrationSQL(c.Postgres.Schema, 0)
	switch {
	case err != nil:
		return fmt.Errorf("postgres.schema: %q, cannot be one", c.Postgres.Schema)
	case c.Queue.Partitions > 1:
		return fmt.Errorf("queue.partitions: %d, and a queue in PostgreSQL has one", c.Queue.Partitions)
	case c.Queue.WaitReplicas > 0:
		return fmt.Errorf("queue.wait_replicas: %d, is for Redis: see synchronous_commit of PostgreSQL", c.Queue.WaitReplicas)
	}
	return nil
}

func (r *Redis) check() error {
	addrs := list(r.Addr)
	for _, addr := range addrs {
		if _, port, err := net.SplitHostPort(addr); err != nil || port == "" {
			return fmt.Errorf("redis.addr: %q, must be host:port, or several of them with commas", r.Addr)
		}
	}
	switch {
	case len(addrs) == 0:
		return errors.New("redis.addr: is empty")
	case r.DB < 0 || r.DB != 0 && r.Master == "" && (r.Cluster || len(addrs) > 1):
		return fmt.Errorf("redis.db: %d, must not be negative, and is 0 in a cluster", r.DB)
	case r.Master != "" && r.Cluster:
		return errors.New("redis.master and redis.cluster: set one of them")
	}
	return nil
}

// checkRest checks what is not of the server.
func (c *Config) checkRest() error {
	host, port, err := net.SplitHostPort(c.Serve.Listen)
	switch {
	case err != nil || port == "":
		return fmt.Errorf("serve.listen: %q, must be host:port", c.Serve.Listen)
	case strings.ContainsAny(host, "/ "):
		return fmt.Errorf("serve.listen: %q, has no host name", c.Serve.Listen)
	case c.Serve.Token != "" && len(c.Serve.Token) < minToken:
		return fmt.Errorf("serve.token: %d bytes, must be at least %d", len(c.Serve.Token), minToken)
	case c.Serve.Top < 0 || c.Serve.Top > 1000:
		return fmt.Errorf("serve.top: %d, must be 0 to 1000", c.Serve.Top)
	case c.Queue.Partitions < 0: // 0 is another thing here, so that New would not see the name
		return fmt.Errorf("queue.partitions: %d, must not be negative", c.Queue.Partitions)
	}
	return c.checkQueue()
}

// checkQueue lets firqredis.New check the queue's part, which is the same for all engines. Its context has ended, so that it comes no further.
func (c *Config) checkQueue() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	client := redis.NewClient(&redis.Options{Addr: "localhost:0", MaintNotificationsConfig: noNotifications})
	defer func() { _ = client.Close() }()
	q, err := firqredis.New(ctx, OnRedis[[]byte](c, client, nil))
	if err == nil {
		return q.Close() // it cannot be
	}
	if !errors.Is(err, firq.ErrInvalidConfig) {
		return nil // the server, which it has not asked
	}
	_, text, _ := strings.Cut(strings.TrimPrefix(err.Error(), firq.ErrInvalidConfig.Error()+": "), ": ") // the package
	if field, rest, ok := strings.Cut(text, ":"); ok {
		text = "queue." + snake(field) + ":" + rest
	}
	return errors.New(text)
}

// snake returns a field's name as it is in the file: MaxQueued is max_queued.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if 'A' <= r && r <= 'Z' {
			if i > 0 && name[i-1] != '.' {
				b.WriteByte('_')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// OnRedis returns the configuration of a queue. Partitions is 1 if the configuration leaves it open.
func OnRedis[T any](c *Config, client redis.UniversalClient, codec queue.Codec[T]) firqredis.Config[T] {
	q := &c.Queue
	return firqredis.Config[T]{
		Client: client, Name: q.Name, Partitions: max(q.Partitions, 1), Codec: codec, Lease: q.Lease, MaxAttempts: q.MaxAttempts,
		Backoff:   queue.Backoff{First: q.Backoff.First, Max: q.Backoff.Max, Factor: q.Backoff.Factor, NoJitter: q.Backoff.NoJitter},
		MaxQueued: q.MaxQueued, MaxQueuedPerTenant: q.MaxQueuedPerTenant, MaxInFlight: q.MaxInFlight, MaxInFlightPerTenant: q.MaxInFlightPerTenant,
		PriorityAging: q.PriorityAging, MaxPayload: q.MaxPayload, DeadLetters: queue.Retention(q.DeadLetters),
		WaitReplicas: q.WaitReplicas, TenantIdle: q.TenantIdle, Linger: q.Linger, RatePerTenant: rate.Limit(q.RatePerTenant),
	}
}

// OnPostgres returns the configuration of a queue.
func OnPostgres[T any](c *Config, db *pgxpool.Pool, codec queue.Codec[T]) firqpg.Config[T] {
	r := OnRedis(c, nil, codec)
	return firqpg.Config[T]{
		DB: db, Schema: c.Postgres.Schema, NoListen: c.Postgres.NoListen, Name: r.Name, Codec: codec, Lease: r.Lease, MaxAttempts: r.MaxAttempts, Backoff: r.Backoff,
		MaxQueued: r.MaxQueued, MaxQueuedPerTenant: r.MaxQueuedPerTenant, MaxInFlight: r.MaxInFlight, MaxInFlightPerTenant: r.MaxInFlightPerTenant,
		PriorityAging: r.PriorityAging, MaxPayload: r.MaxPayload, DeadLetters: r.DeadLetters, TenantIdle: r.TenantIdle, Linger: r.Linger,
		RatePerTenant: r.RatePerTenant,
	}
}

var noNotifications = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}

// Client returns a client of the server. It does not connect yet.
func (r *Redis) Client() redis.UniversalClient {
	o := &redis.UniversalOptions{
		Addrs: list(r.Addr), MasterName: r.Master, IsClusterMode: r.Cluster, Username: r.Username, Password: r.Password, DB: r.DB,
		DialTimeout: r.Timeout, ReadTimeout: r.Timeout, WriteTimeout: r.Timeout, DialerRetries: 1,
		MaintNotificationsConfig: noNotifications,
	}
	if r.TLS {
		o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return redis.NewUniversalClient(o)
}

// HostNames returns Hosts as a list.
func (s *Serve) HostNames() []string { return list(s.Hosts) }

// list returns the parts between commas.
func list(text string) (all []string) {
	for _, part := range strings.Split(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			all = append(all, part)
		}
	}
	return all
}

// hidden stands for what is not shown.
const hidden = "(set)"

// Shown returns the configuration as it may be shown: without passwords.
func (c Config) Shown() Config {
	for _, secret := range []*string{&c.Redis.Password, &c.Serve.Token} {
		if *secret != "" {
			*secret = hidden
		}
	}
	c.Server = hideURL(c.Server)
	return c
}

// YAML returns the configuration as a file, without passwords.
func (c Config) YAML() ([]byte, error) { return yaml.Marshal(c.Shown()) }
