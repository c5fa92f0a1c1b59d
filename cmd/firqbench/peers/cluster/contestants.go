package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"time"

	protoactor "github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/cluster"
	"github.com/asynkron/protoactor-go/cluster/clusterproviders/automanaged"
	"github.com/asynkron/protoactor-go/cluster/identitylookup/disthash"
	"github.com/asynkron/protoactor-go/remote"
	"github.com/nats-io/nats.go"
	"github.com/urfave/cli/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/firq-go/firq/actor"
	"github.com/firq-go/firq/contrib/firqnats"
	"github.com/firq-go/firq/contrib/firqnats/embedded"
)

// contestant is asked to add 1 to a counter in another process, and answers what it is then.
type contestant struct {
	name, about string
	start       func(ctx context.Context, s *system) error
}

// crowdOfActors is how many actors the contestants with many have.
const crowdOfActors = 512

func contestants() []contestant {
	one := func(uint64) string { return "one" }
	many := func(i uint64) string { return strconv.FormatUint(i%crowdOfActors, 10) }
	fresh := func(i uint64) string { return "new-" + strconv.FormatUint(i, 10) }
	return []contestant{
		{"firqnats", "contrib/firqnats, JSON, one actor", ours(one, false)},
		{"nats", "NATS request-reply, JSON", plain},
		{"grpc", "a unary call of gRPC, JSON inside, no broker", unary},
		{"firqnats-512", "contrib/firqnats, 512 actors", ours(many, false)},
		{"proto-512", "Proto.Actor's cluster, Protobuf, 512 grains, no broker", proto(many)},
		{"proto", "the same, one grain", proto(one)},
		{"firqnats-first", "contrib/firqnats, each call is the first of its actor", ours(fresh, false)},
		{"firqnats-saved", "contrib/firqnats, 512 actors, the state saved before each answer", ours(many, true)},
	}
}

// serve is a process of a contestant: it says one line, and ends with its stdin.
func serve(ctx context.Context, cmd *cli.Command) error {
	ctx, end := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		end()
	}()
	args := cmd.Args()
	said, err := "ready", error(nil)
	switch args.First() {
	case "server":
		var server *embedded.Server
		if server, err = embedded.Start(embedded.Options{Port: -1}); err == nil {
			said = server.URL()
		}
	case "node":
		_, _, err = join(ctx, args.Get(1), false)
	case "responder":
		err = respond(args.Get(1))
	case "grpc":
		said, err = listen()
	case "proto":
		_, err = member(args.Get(1), args.Get(2), true)
	default:
		err = fmt.Errorf("no role %q", args.First())
	}
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(os.Stdout, said); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// counter of contrib/firqnats.
type counter struct{ saved *firqnats.State[int] }

func (k *counter) add(_ *actor.Ctx, by int) (int, error) {
	k.saved.Value += by
	return k.saved.Value, nil
}

func (k *counter) keep(c *actor.Ctx, by int) (int, error) {
	k.saved.Value += by
	return k.saved.Value, k.saved.Save(c)
}

var (
	add  = actor.NewMethod("Add", (*counter).add)
	keep = actor.NewMethod("Keep", (*counter).keep)
)

func join(ctx context.Context, url string, client bool) (*firqnats.Node, *firqnats.Kind[*counter], error) {
	nc, err := nats.Connect(url)
	if err != nil {
		return nil, nil, err
	}
	sys, err := actor.New(actor.Config{})
	if err != nil {
		return nil, nil, err
	}
	n, err := firqnats.Join(ctx, nc, sys, firqnats.Options{Client: client, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, nil, err
	}
	k, err := firqnats.NewKind(n, "counter", func(c *actor.Ctx, _ string) (*counter, error) {
		saved, err := firqnats.Load[int](c)
		return &counter{saved}, err
	}, []actor.AnyMethod[*counter]{add, keep})
	return n, k, err
}

func ours(key func(uint64) string, save bool) func(context.Context, *system) error {
	return func(ctx context.Context, s *system) error {
		server, err := s.start(ctx, "server")
		if err != nil {
			return err
		}
		if _, err := s.start(ctx, "node", server.said); err != nil {
			return err
		}
		n, k, err := join(ctx, server.said, true)
		if err != nil {
			return err
		}
		s.close = append(s.close, func() { _ = n.Leave(context.Background()) })
		m := add
		if save {
			m = keep
		}
		s.call = func(ctx context.Context, i uint64) error {
			_, err := m.Call(ctx, k.Ref(key(i)), 1)
			return err
		}
		return nil
	}
}

// plain is NATS without firq.
func plain(ctx context.Context, s *system) error {
	server, err := s.start(ctx, "server")
	if err != nil {
		return err
	}
	if _, err := s.start(ctx, "responder", server.said); err != nil {
		return err
	}
	nc, err := nats.Connect(server.said)
	if err != nil {
		return err
	}
	s.close = append(s.close, nc.Close)
	s.call = func(ctx context.Context, _ uint64) error {
		by, err := json.Marshal(1)
		if err != nil {
			return err
		}
		ctx, end := context.WithTimeout(ctx, 10*time.Second)
		defer end()
		m, err := nc.RequestWithContext(ctx, "add", by)
		if err != nil {
			return err
		}
		var n int
		return json.Unmarshal(m.Data, &n)
	}
	return nil
}

func respond(url string) error {
	nc, err := nats.Connect(url)
	if err != nil {
		return err
	}
	count := 0
	if _, err = nc.Subscribe("add", func(m *nats.Msg) {
		if answer, err := addTo(&count, m.Data); err == nil {
			_ = m.Respond(answer)
		}
	}); err != nil {
		return err
	}
	return nc.Flush()
}

// addTo adds what is encoded, and returns the sum so.
func addTo(count *int, by []byte) ([]byte, error) {
	var n int
	if err := json.Unmarshal(by, &n); err != nil {
		return nil, err
	}
	*count += n
	return json.Marshal(*count)
}

// bytesCodec lets gRPC pass bytes as they are.
type bytesCodec struct{}

func (bytesCodec) Name() string { return "bytes" }

func (bytesCodec) Marshal(v any) ([]byte, error) {
	if b, ok := v.(*[]byte); ok {
		return *b, nil
	}
	return nil, errors.New("not bytes")
}

func (bytesCodec) Unmarshal(data []byte, v any) error {
	b, ok := v.(*[]byte)
	if !ok {
		return errors.New("not bytes")
	}
	*b = append([]byte(nil), data...)
	return nil
}

func unary(ctx context.Context, s *system) error {
	server, err := s.start(ctx, "grpc")
	if err != nil {
		return err
	}
	conn, err := grpc.NewClient(server.said, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(bytesCodec{})))
	if err != nil {
		return err
	}
	s.close = append(s.close, func() { _ = conn.Close() })
	s.call = func(ctx context.Context, _ uint64) error {
		by, err := json.Marshal(1)
		if err != nil {
			return err
		}
		var answer []byte
		if err := conn.Invoke(ctx, "/counter/Add", &by, &answer); err != nil {
			return err
		}
		var n int
		return json.Unmarshal(answer, &n)
	}
	return nil
}

// listen serves gRPC, and returns the address.
func listen() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	turn, count := make(chan struct{}, 1), 0
	handler := func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		var by []byte
		if err := decode(&by); err != nil {
			return nil, err
		}
		turn <- struct{}{}
		defer func() { <-turn }()
		answer, err := addTo(&count, by)
		return &answer, err
	}
	server := grpc.NewServer(grpc.ForceServerCodec(bytesCodec{}))
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "counter", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Add", Handler: handler}}}, struct{}{})
	go func() { _ = server.Serve(l) }()
	return l.Addr().String(), nil
}

// grain of Proto.Actor.
type grain struct{ count int64 }

func (g *grain) Receive(c protoactor.Context) {
	if by, ok := c.Message().(*wrapperspb.Int64Value); ok {
		g.count += by.Value
		c.Respond(wrapperspb.Int64(g.count))
	}
}

// member makes this process one of two of Proto.Actor's cluster: they find each other by two ports.
func member(own, other string, hosts bool) (*cluster.Cluster, error) {
	port, err := strconv.Atoi(own)
	if err != nil {
		return nil, err
	}
	quiet := protoactor.WithLoggerFactory(func(*protoactor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) })
	options := []cluster.ConfigOption{cluster.WithRequestTimeout(5 * time.Second)}
	if hosts {
		options = append(options, cluster.WithKinds(cluster.NewKind("counter",
			protoactor.PropsFromProducer(func() protoactor.Actor { return &grain{} }))))
	}
	provider := automanaged.NewWithConfig(time.Second, port, "localhost:"+own, "localhost:"+other)
	c := cluster.New(protoactor.NewActorSystem(quiet), cluster.Configure("bench", provider, disthash.New(), remote.Configure("127.0.0.1", 0), options...))
	c.StartMember()
	return c, nil
}

func proto(key func(uint64) string) func(context.Context, *system) error {
	return func(ctx context.Context, s *system) error {
		ports, err := free(2)
		if err != nil {
			return err
		}
		if _, err := s.start(ctx, "proto", ports[0], ports[1]); err != nil {
			return err
		}
		c, err := member(ports[1], ports[0], false)
		if err != nil {
			return err
		}
		by := wrapperspb.Int64(1)
		s.call = func(_ context.Context, i uint64) error {
			_, err := c.Request(key(i), "counter", by)
			return err
		}
		return nil
	}
}

// free returns ports that are free now.
func free(n int) (ports []string, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer func() { _ = l.Close() }()
		_, port, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			return nil, err
		}
		ports = append(ports, port)
	}
	return ports, nil
}
