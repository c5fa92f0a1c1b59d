package config

import (
	"errors"
	"net/url"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Server says where the fleet's Redis or Valkey is; one of the fields is set.
type Server struct {
	Single   *redis.Options
	Sentinel *redis.FailoverOptions
	Cluster  *redis.ClusterOptions
}

// parseServer reads the URL of a single server, or of several addresses, separated by commas: those of Sentinels, if there is a
// master_name (their own user is sentinel_username and sentinel_password), or nodes of a cluster. The scheme redis+cluster is a cluster, also with one address.
func parseServer(text string) (*Server, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok && strings.Contains(text, ",") { // as firqd has them
		scheme, rest, ok = "redis", text, true
	}
	if !ok {
		return nil, errors.New("no URL")
	}
	scheme, cluster := strings.CutSuffix(scheme, "+cluster")
	host, more := rest, ""
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		host, more = rest[:i], rest[i:]
	}
	user := ""
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		user, host = host[:i+1], host[i+1:]
	}
	addrs := strings.Split(host, ",")
	u, err := url.Parse(scheme + "://" + user + addrs[0] + more)
	if err != nil {
		return nil, err
	}
	q := u.Query()
	for _, a := range addrs[1:] {
		q.Add("addr", a)
	}
	u.RawQuery = q.Encode()
	noNotices := &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	switch {
	case q.Has("master_name") && !cluster:
		sentinel := [2]string{q.Get("sentinel_username"), q.Get("sentinel_password")}
		q.Del("sentinel_username")
		q.Del("sentinel_password")
		u.RawQuery = q.Encode()
		o, err := redis.ParseFailoverURL(u.String())
		if err != nil {
			return nil, err
		}
		if o.MasterName == "" {
			return nil, errors.New("no name")
		}
		// The user of the URL is that of the server, as elsewhere.
		o.Username, o.Password = o.SentinelUsername, o.SentinelPassword
		o.SentinelUsername, o.SentinelPassword = sentinel[0], sentinel[1]
		o.MaxRetries = -1 // firqfleet does not send twice what may have arrived
		return &Server{Sentinel: o}, nil
	case cluster || q.Has("addr"):
		if u.Path != "" && u.Path != "/" && u.Path != "/0" {
			return nil, errors.New("a cluster has one database")
		}
		u.Path = ""
		o, err := redis.ParseClusterURL(u.String())
		if err != nil {
			return nil, err
		}
		o.MaxRetries, o.MaintNotificationsConfig = -1, noNotices
		return &Server{Cluster: o}, nil
	}
	o, err := redis.ParseURL(u.String())
	if err != nil {
		return nil, err
	}
	o.MaxRetries, o.MaintNotificationsConfig = -1, noNotices
	return &Server{Single: o}, nil
}

// Open returns a client.
func (s *Server) Open() redis.UniversalClient {
	switch {
	case s.Sentinel != nil:
		return redis.NewFailoverClient(s.Sentinel)
	case s.Cluster != nil:
		return redis.NewClusterClient(s.Cluster)
	}
	return redis.NewClient(s.Single)
}
