//go:build race

package schedtest

// raceDetector: everything takes several times as long.
const raceDetector = true

// slowness is by how much longer a call may take; others may load the machine.
const slowness = 3
