package queue

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/firq-go/firq"
)

// One queue carries several kinds; what a typed handler does to its item is done to the task.
func TestMux(t *testing.T) {
	t.Parallel()
	type mail struct{ To string }
	m, ctx := NewMux(), context.Background()
	var got []any
	Handle(m, "mail", func(_ context.Context, it *Item[mail]) error {
		got = append(got, it.Payload.To, it.Tenant, it.Attempt)
		it.Charge(3)
		return it.SetResult([]byte("sent"))
	})
	Handle(m, "raw", func(_ context.Context, it *Item[[]byte]) error {
		got = append(got, string(it.Payload))
		it.Charge(4)
		panic("ouch")
	})
	codec := codecOf[Message]()
	item := func(x Message, err error) *Item[Message] {
		t.Helper()
		ok(t, err)
		b, err := codec.Encode(x)
		ok(t, err)
		back, err := codec.Decode(b)
		ok(t, err)
		return &Item[Message]{Task: Task[Message]{Tenant: "acme", Payload: back, KeepResult: 1}, Attempt: 2}
	}
	it := item(NewMessage("mail", mail{"ann"}))
	ok(t, m.Handle(ctx, it))
	same(t, "Charge", LeaseOf(it).Charge, 3)
	same(t, "Result", string(LeaseOf(it).Result), "sent")
	it = item(NewMessage("raw", []byte("a\nb")))
	func() {
		defer func() { same(t, "panic", recover(), any("ouch")) }()
		_ = m.Handle(ctx, it)
	}()
	same(t, "Charge", LeaseOf(it).Charge, 4)
	for i, w := range []any{"ann", "acme", 2, "a\nb"} {
		same(t, "handled", got[i], w)
	}
	if err := m.Handle(ctx, item(Message{Kind: "other"}, nil)); err == nil || !strings.Contains(err.Error(), `["mail" "raw"]`) || errors.As(err, new(deadly)) {
		t.Errorf("of no kind: %v", err)
	}
	if err := m.Handle(ctx, item(Message{"mail", []byte("{")}, nil)); !errors.As(err, new(deadly)) {
		t.Errorf("unreadable: %v", err)
	}
	if _, err := codec.Encode(Message{Kind: "a\nb"}); err == nil {
		t.Error("a kind of two lines")
	}
	if _, err := codec.Decode([]byte("x")); err == nil {
		t.Error("no kind")
	}
	_, err := NewMessage("f", func() {})
	want(t, err, firq.ErrInvalidTask)
	for name, f := range map[string]func(){
		"twice": func() { Handle(m, "mail", func(context.Context, *Item[int]) error { return nil }) },
		"nil":   func() { Handle[int](m, "nil", nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}
