//go:build !race

package schedtest

const raceDetector = false

const slowness = 1
