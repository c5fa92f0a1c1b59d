//go:build race

package fairness

// raceDetector: everything takes many times as long.
const raceDetector = true
