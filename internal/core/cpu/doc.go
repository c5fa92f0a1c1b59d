// Package cpu tells, cheaply and approximately, which processor the caller runs
// on, so that callers on different processors can use different cache lines.
package cpu
