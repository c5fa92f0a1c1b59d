//go:build !unix

package watchdog

import "time"

func processorTime() time.Duration { return -1 }
