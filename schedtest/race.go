//go:build race

package schedtest

// raceDetector: everything takes several times as long.
const raceDetector = true
