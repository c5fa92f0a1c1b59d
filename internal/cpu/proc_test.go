//go:build !firq_nolinkname

package cpu

const exact = true // Hint is the processor's index
