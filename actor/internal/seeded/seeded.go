// Package seeded is how package actortest makes a System of package actor that no other package
// else can make.
package seeded

// New returns a *actor.System for an actor.Config, whose order of service is by seed. It
// is set by package actor.
var New func(config any, seed uint64) (any, error)
