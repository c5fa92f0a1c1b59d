//go:build !race

package schedtest

const raceDetector = false
