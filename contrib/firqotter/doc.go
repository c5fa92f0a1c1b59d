// Package firqotter keeps the results of package compute in otter v2, a cache that
// decides by W-TinyLFU what to evict.
//
// # Usage
//
// Make a [Cache] for each server and hand it over; Close both at the end:
//
//	kept, err := firqotter.New[string, int, report](10_000)
//	if err != nil {
//		return err
//	}
//	defer kept.Close()
//	s, err := compute.New(query, compute.Config[string, int, report]{TTL: time.Minute, Cache: kept})
//
// compute has a cache of its own (SIEVE), which is what you get without any of this: it
// needs no other module, bounds what one tenant may fill, and weighs results. Take otter
// where your own requests say that it finds more, or where its statistics and hooks are in
// use already. Stats().Entries of the server is otter's estimate: for a moment after many
// writes it may be above the size, and entries that have expired count until otter has
// cleaned up, about once per second.
//
// A Cache must not serve two servers: the entries of one mean nothing to the other.
//
// # Weights and expiry
//
// What an entry weighs is its Weight, and the size given to New bounds the sum. A
// compute.Server gives every entry the weight 1 as long as it has a Cache that is not its
// own, where Config.Weigh is invalid, so the size is the number of entries.
//
// An entry leaves the cache once it can no longer be an answer, after its TTL, stale
// times included. The server looks at the times of an entry itself, so how exact otter is
// there does not matter.
//
// # Concurrency properties
//
// Everything is safe for concurrent use. A Get takes no lock. What Set has put there is
// seen by every Get that begins after it, unless otter has evicted it since. Otter evicts on
// goroutines that end by themselves, and frees what has expired on one that ends with Close.
package firqotter
