//go:build firq_nolinkname

package cpu

const exact = false // Hint is any number
