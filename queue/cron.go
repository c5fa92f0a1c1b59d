package queue

import (
	"time"

	"github.com/firq-go/firq/queue/internal/cron"
)

// RegisterCron sets what reads the expressions of schedules. It is for engines, which call it in init with a library's parser, so that
// this module needs none: parse reads six fields, the seconds first, and returns a function that returns the first time after another
// one that matches, or an error if there is none. It gets wall clocks, as times in UTC: zones are none of its business.
func RegisterCron(parse func(expr string) (next func(after time.Time) (time.Time, error), err error)) {
	cron.Register(parse)
}
