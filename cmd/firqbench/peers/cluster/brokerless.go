package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"strconv"
	"time"

	protoactor "github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/cluster"
	"github.com/asynkron/protoactor-go/cluster/clusterproviders/automanaged"
	"github.com/asynkron/protoactor-go/cluster/identitylookup/disthash"
	"github.com/asynkron/protoactor-go/remote"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

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
