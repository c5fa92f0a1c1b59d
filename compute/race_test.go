//go:build race

package compute

const raceDetector = true
