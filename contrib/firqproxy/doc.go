// Package firqproxy has no code: it is the root of the module of cmd/firqproxy, a reverse proxy
// that lets the tenants of a service take turns. README.md says how to run it.
package firqproxy
