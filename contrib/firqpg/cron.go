package firqpg

import (
	"errors"
	"time"

	"github.com/adhocore/gronx"

	"github.com/firq-go/firq/queue"
)

func init() {
	queue.RegisterCron(func(expr string) (func(time.Time) (time.Time, error), error) {
		if !gronx.IsValid(expr) {
			return nil, errors.New("is not valid")
		}
		return func(after time.Time) (time.Time, error) { return gronx.NextTickAfter(expr, after, false) }, nil
	})
}
