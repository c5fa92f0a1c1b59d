package firqpg

import (
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestHeldIDHoldsUpNobody: a call whose task has the ID of an open transaction waits by itself: the tasks that came in its batch, and the calls
// after it, of the same client, do not.
func TestHeldIDHoldsUpNobody(t *testing.T) {
	t.Parallel()
	q, db := queueOf(t, Config[string]{})
	ctx := bounded(t)
	if _, err := db.Exec(ctx, "alter function firq.push_alone set lock_timeout = '1h'"); err != nil { // so that it ends with the transaction only
		t.Fatal(err)
	}
	tx := begin(t, db, pgx.TxOptions{})
	if _, err := EnqueueTx(ctx, q, tx, Task[string]{ID: "held"}, Task[string]{ID: "keeper", UniqueKey: "k"}); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := q.EnqueueBatch(ctx, []Task[string]{{ID: "a"}, {ID: "held"}, {ID: "b"}})
		ended <- err
	}()
	for _, want := range []string{"a", "b"} { // of the batch
		if it := must[*Item[string]](t)(q.Dequeue(ctx)); it.ID != want || q.Ack(ctx, it) != nil {
			t.Errorf("%+v, want %s", it, want)
		}
	}
	for range 5 {
		must[string](t)(q.Enqueue(ctx, Task[string]{}))
	}
	select {
	case err := <-ended:
		t.Errorf("the batch has ended before the transaction: %v", err)
	default:
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if s := must[Stats](t)(q.Stats(ctx)); s.Enqueued != 9 {
		t.Errorf("%+v", s)
	}
}
