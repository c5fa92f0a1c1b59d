//go:build firq_failpoints

package actor

var callPlays, waitPlays, lifePlays, endPlays map[string]play
