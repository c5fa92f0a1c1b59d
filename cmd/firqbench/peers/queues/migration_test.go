package main

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/hibiken/asynq"
)

// TestMigration: what docs/queue-migration.md shows of asynq is asynq.
func TestMigration(t *testing.T) {
	type Mail struct{ To string }
	to := ""
	send := func(_ context.Context, m Mail) error { to = m.To; return nil }
	mux := asynq.NewServeMux()
	mux.HandleFunc("mail", func(ctx context.Context, t *asynq.Task) error {
		var m Mail
		if err := json.Unmarshal(t.Payload(), &m); err != nil {
			return fmt.Errorf("%v: %w", err, asynq.SkipRetry)
		}
		return send(ctx, m)
	})
	if err := mux.ProcessTask(t.Context(), asynq.NewTask("mail", []byte(`{"To": "ann"}`))); err != nil || to != "ann" {
		t.Error(to, err)
	}
}
