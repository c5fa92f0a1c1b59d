//go:build !race

package fairness

const raceDetector = false
