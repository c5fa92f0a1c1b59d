package firqgrpc_test

import (
	"context"
	"fmt"
	"net"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/firq-go/firq/contrib/firqgrpc"
	"github.com/firq-go/firq/gate"
)

// A server with one slot, and what a client gets that cannot have it in time.
// The health service stands for one of yours; it would pass by the gate unless told otherwise.
func Example() {
	customers := map[string]bool{"k-4711": true} // the API keys in use
	g := gate.New(1, gate.Config[string]{MaxPerTenant: 100, MaxQueueAge: 10 * time.Millisecond})
	in := firqgrpc.New(g, firqgrpc.Config{
		Tenant: firqgrpc.FirstOf(
			firqgrpc.Known(firqgrpc.Metadata("x-api-key"), func(key string) bool { return customers[key] }),
			firqgrpc.Peer, // without a key that we know: by address
		),
		Skip:       firqgrpc.Services("grpc.reflection.v1.ServerReflection"),
		RetryDelay: time.Second,
	})
	srv := grpc.NewServer(grpc.ChainUnaryInterceptor(in.Unary), grpc.ChainStreamInterceptor(in.Stream))
	grpc_health_v1.RegisterHealthServer(srv, health.NewServer())
	conn, stop := connect(srv)
	defer stop()

	client := grpc_health_v1.NewHealthClient(conn)
	ctx := metadata.AppendToOutgoingContext(context.Background(), "x-api-key", "k-4711")
	out, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	fmt.Println(out.GetStatus(), err)

	// The gate may have other users than the server.
	p, err := g.Acquire(ctx, "nightly job", gate.Request{})
	if err != nil {
		panic(err)
	}
	defer p.Release()
	_, err = client.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	st := status.Convert(err)
	fmt.Println(st.Code())
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			fmt.Println("reason", d.Reason)
		case *errdetails.RetryInfo:
			fmt.Println("try again in", d.RetryDelay.AsDuration())
		}
	}
	// Output:
	// SERVING <nil>
	// Unavailable
	// reason TIMEOUT
	// try again in 1s
}

// connect serves in memory.
func connect(srv *grpc.Server, more ...grpc.DialOption) (conn *grpc.ClientConn, stop func()) {
	l := bufconn.Listen(1 << 16)
	over := make(chan error, 1)
	go func() { over <- srv.Serve(l) }()
	conn, err := grpc.NewClient("passthrough:///bufconn", append(more,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))...)
	if err != nil {
		panic(err)
	}
	return conn, func() {
		_ = conn.Close()
		srv.Stop()
		if err := <-over; err != nil {
			panic(err)
		}
	}
}
