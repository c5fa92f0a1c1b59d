package firqredis

import (
	"time"
)

// short is a lease that a test waits for.
const short = 30 * time.Millisecond
