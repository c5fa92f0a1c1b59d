//go:build race

package actor

const raceOn = true
