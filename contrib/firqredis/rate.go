package firqredis

import (
	"strconv"
	"strings"

	"github.com/firq-go/firq/rate"
)

// limitText returns a rate as it is stored, and as the scripts read it: "PerSecond Burst", without exponents, "0" for none, and "" for
// the zero Limit.
func limitText(l rate.Limit) string {
	switch {
	case l == rate.Limit{}:
		return ""
	case l.PerSecond < 0:
		return "0"
	}
	return strconv.FormatFloat(l.PerSecond, 'f', -1, 64) + " " + strconv.FormatInt(l.Burst, 10)
}

// limitOf is the inverse.
func limitOf(text string) (l rate.Limit) {
	perSecond, burst, ok := strings.Cut(text, " ")
	switch {
	case ok:
		l.PerSecond, _ = strconv.ParseFloat(perSecond, 64)
		l.Burst, _ = strconv.ParseInt(burst, 10, 64)
	case text != "":
		l.PerSecond = -1
	}
	return l
}
