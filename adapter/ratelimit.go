package adapter

import (
	"math"
	"strconv"
	"time"

	"github.com/firq-go/firq/rate"
)

// mostInteger is the greatest integer of a structured field (RFC 9651).
const mostInteger = 999_999_999_999_999

// RateLimit returns what RateLimit-Policy and RateLimit say of a rate by this name, as
// draft-ietf-httpapi-ratelimit-headers has it with two fields: the burst, and the seconds in
// which it comes back; what is left, and the seconds until all is back. Empty: there is no
// limit.
func RateLimit(name string, r rate.Result) (policy, limit string) {
	if r.Limit.PerSecond == 0 {
		return "", ""
	}
	name = quoted(name)
	window := int64(min(mostInteger, math.Ceil(float64(r.Limit.Burst)/r.Limit.PerSecond)))
	return name + ";q=" + integer(r.Limit.Burst) + ";w=" + integer(window),
		name + ";r=" + integer(r.Remaining) + ";t=" + integer(Seconds(r.Reset))
}

func integer(n int64) string { return strconv.FormatInt(min(n, mostInteger), 10) }

// Seconds returns a duration in whole seconds, rounded up.
func Seconds(d time.Duration) int64 {
	n := int64(d / time.Second)
	if d%time.Second > 0 {
		n++
	}
	return n
}
