// Package serve is what both cores do alike: the checks before a task is
// admitted, what happens at a limit, and everything that a shard does under its
// lock. The cores differ in how a task gets there, how places are reserved, and
// what lock there is.
package serve
