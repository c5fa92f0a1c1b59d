package main

import (
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/firq-go/firq/contrib/firqpg/pgtest"
)

// Every order that was committed has one mail.
func TestOutbox(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("play", func(t *testing.T) {
		var out strings.Builder
		if err := play(t.Context(), pgtest.Server(t), 50, &out); err != nil {
			t.Fatal(err)
		}
		var orders, refused, mails, mailed int
		if _, err := fmt.Sscanf(out.String(), "%d orders (%d more were rolled back), %d mails to %d orders", &orders, &refused, &mails, &mailed); err != nil {
			t.Fatal(err, out.String())
		}
		if orders == 0 || refused == 0 || orders != mails || mails != mailed || orders+refused != 100 {
			t.Error(out.String())
		}
	})
}
