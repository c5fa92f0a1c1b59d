//go:build !linux

package usage

// OfMachine returns the zero value: only Linux says.
func OfMachine() Machine { return Machine{} }
