// Package compute answers requests of many tenants for results that cost something to
// make: from a cache, from the one execution of their key that is under way, or by
// executing when it is their tenant's turn.
package compute
