package nodes

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/firq-go/firq/contrib/firqnats"
)

// Nothing is left of a node that cannot join.
func TestNoServer(t *testing.T) {
	defer goleak.VerifyNone(t)
	if _, _, err := Join(t.Context(), "nats://127.0.0.1:1", firqnats.Options{}); err == nil {
		t.Error("a node joined without a server")
	}
	if err := Serve("nats://127.0.0.1:1", nil); err == nil {
		t.Error("a node serves without a server")
	}
}
