// Package ottercache keeps the results of package compute in otter v2, a cache that
// evicts by W-TinyLFU.
//
// # Usage
//
// Make a [Cache] for each server and pass it in the Config; Close both at the end:
//
//	kept, err := ottercache.New[string, int, report](10_000)
//	if err != nil {
//		return err
//	}
//	defer kept.Close()
//	s, err := compute.New(query, compute.Config[string, int, report]{TTL: time.Minute, Cache: kept})
//
// compute has its own cache (S3-FIFO in each tenant), which it uses by default: it needs
// no other module, gives each tenant its share, and weighs results. Take otter if it has more
// hits on your own requests, or if you already use its statistics and hooks.
// Stats().Entries of the server is otter's estimate: for a moment after many writes it
// may exceed the size, and expired entries count until otter has cleaned up, about once
// per second.
//
// A Cache must not serve two servers: the entries of one mean nothing to the other.
//
// # Weights and expiry
//
// The size given to New bounds the sum of the entries' Weights. A compute.Server with a
// Cache that is not its own gives every entry the weight 1, as Config.Weigh is invalid
// there, so the size is the number of entries.
//
// An entry leaves the cache once it can no longer be an answer: after its TTL, stale
// times included. The server checks the times of an entry itself, so otter's precision
// does not matter.
//
// # Concurrency properties
//
// Everything is safe for concurrent use. A Get takes no lock. Every Get that begins
// after a Set sees its entry, unless otter has evicted it since. Otter evicts on
// goroutines that end by themselves, and frees expired entries on a goroutine that ends
// with Close.
package ottercache
