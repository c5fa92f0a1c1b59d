package firqgrpc_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/firq-go/firq/contrib/firqgrpc"
	"github.com/firq-go/firq/gate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type text = wrapperspb.StringValue

// service has a unary method Do and a stream Talk; both hand over to functions of
// the test.
type service struct {
	do   func(context.Context, string) (string, error)
	talk func(grpc.ServerStream) error
}

const (
	do   = "/test.Echo/Do"
	talk = "/test.Echo/Talk"
)

var talkDesc = grpc.StreamDesc{StreamName: "Talk", ClientStreams: true, ServerStreams: true}

func (s *service) desc() *grpc.ServiceDesc {
	stream := talkDesc
	stream.Handler = func(_ any, ss grpc.ServerStream) error { return s.talk(ss) }
	unary := func(_ any, ctx context.Context, decode func(any) error, in grpc.UnaryServerInterceptor) (any, error) {
		req := new(text)
		if err := decode(req); err != nil {
			return nil, err
		}
		return in(ctx, req, &grpc.UnaryServerInfo{FullMethod: do}, func(ctx context.Context, req any) (any, error) {
			out, err := s.do(ctx, req.(*text).Value)
			return wrapperspb.String(out), err
		})
	}
	return &grpc.ServiceDesc{
		ServiceName: "test.Echo",
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "Do", Handler: unary}},
		Streams:     []grpc.StreamDesc{stream},
	}
}

// serve starts a server whose calls go through g, and returns a client of it.
// Panics of handlers become errors.
func serve(t *testing.T, s *service, g *gate.Gate[string], o firqgrpc.Config, more ...func(*grpc.Server)) *grpc.ClientConn {
	t.Helper()
	if o.Tenant == nil {
		o.Tenant = firqgrpc.Metadata("tenant")
	}
	in := firqgrpc.New(g, o)
	srv := grpc.NewServer(
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (out any, err error) {
			defer recovered(&err)
			return h(ctx, req)
		}, in.Unary),
		grpc.ChainStreamInterceptor(func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, h grpc.StreamHandler) (err error) {
			defer recovered(&err)
			return h(srv, ss)
		}, in.Stream),
	)
	srv.RegisterService(s.desc(), nil)
	for _, register := range more {
		register(srv)
	}
	conn, stop := connect(srv, grpc.WithChainUnaryInterceptor(patient), grpc.WithChainStreamInterceptor(patientStream))
	t.Cleanup(func() {
		stop()
		if n := g.InUse(); n != 0 {
			t.Errorf("%d slots are taken after the end", n)
		}
		if st := in.Stats(); st.InFlight != 0 || st.Waiting != 0 {
			t.Errorf("at the end: %+v", st)
		}
		_ = g.Close()
	})
	return conn
}

// enough is when a test that waits has failed: a bug shall not hang it.
const enough = 20 * time.Second

func patient(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	ctx, cancel := context.WithTimeout(ctx, enough)
	defer cancel()
	return invoke(ctx, method, req, reply, cc, opts...)
}

func patientStream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	ctx, cancel := context.WithTimeout(ctx, enough)
	cs, err := open(ctx, desc, cc, method, opts...)
	context.AfterFunc(ctx, cancel)
	return cs, err
}

func recovered(err *error) {
	if p := recover(); p != nil {
		*err = status.Errorf(codes.Unknown, "panic: %v", p)
	}
}

// as is a context of a call by this tenant.
func as(tenant string) context.Context {
	return metadata.AppendToOutgoingContext(context.Background(), "tenant", tenant)
}

func call(ctx context.Context, conn *grpc.ClientConn, say string, opts ...grpc.CallOption) (string, error) {
	var out text
	err := conn.Invoke(ctx, do, wrapperspb.String(say), &out, opts...)
	return out.Value, err
}

// wait waits until the condition holds, which does not depend on time: another
// goroutine, or the other end of a connection, is on its way to make it so.
func wait(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(enough); !holds(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(end) {
			t.Fatal("waited in vain: " + what)
		}
	}
}

// waiting waits until n calls wait and have their places in the queue: a call
// counts in Waiting a moment before it has.
func waiting(t *testing.T, g *gate.Gate[string], n int) {
	t.Helper()
	wait(t, fmt.Sprintf("%d calls wait", n), func() bool {
		return g.Waiting() == n && g.Stats().Queue.QueueLen == n
	})
}

func inUse(t *testing.T, g *gate.Gate[string], n int) {
	t.Helper()
	wait(t, fmt.Sprintf("%d slots are taken", n), func() bool { return g.InUse() == n })
}
