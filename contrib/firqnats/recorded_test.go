package firqnats

import (
	"errors"
	"testing"

	"github.com/firq-go/firq/actor"
	"github.com/firq-go/firq/hist"
)

// What firqprom and firqotel look for: metrics.ClusterRecorder.
var _ interface {
	Recorded() (calls map[string]map[string]*hist.Snapshot, activations map[string]*hist.Snapshot)
} = (*Node)(nil)

// Calls to other nodes are recorded where they are made, answered with an error or not; starts where the actor is.
func TestRecorded(t *testing.T) {
	o := options(t)
	host := join(t, o)
	kind(t, host)
	k := client(t, o)
	ctx := bounded(t)
	for range 3 {
		must(add.Call(ctx, k.Ref("a"), 1))(t)
	}
	if _, err := fail.Call(ctx, k.Ref("b"), "plain"); err == nil {
		t.Fatal("fail did not fail")
	}
	if _, err := actor.NewMethod("Nothing", func(*tally, *actor.Ctx, int) (int, error) { return 0, nil }).Call(ctx, k.Ref("b"), 1); !errors.Is(err, ErrUnknown) {
		t.Fatal(err)
	}
	if err := add.Tell(ctx, k.Ref("a"), 1); err != nil {
		t.Fatal(err)
	}
	calls, activations := k.n.Recorded()
	if of := calls["tally"]; len(calls) != 1 || of["Add"].Count() != 3 || of["Add"].Min() <= 0 || of["Fail"].Count() != 1 || len(activations) != 0 {
		t.Errorf("the caller has recorded %v and %v", calls, activations)
	}
	calls, activations = host.Recorded()
	if len(calls) != 0 || activations["tally"].Count() != 2 || activations["tally"].Min() <= 0 {
		t.Errorf("the host has recorded %v and %v", calls, activations)
	}
}
