// Package compute answers requests of many tenants for results that are expensive to
// make: a query, a rendering, a call of another service. A call is answered from a
// cache, or joins the execution of its key that is under way, or executes when it is
// its tenant's turn (package gate). So a tenant that asks for too much delays itself
// only, and a result that many ask for is made once.
//
//	s, err := compute.New(func(ctx context.Context, c compute.Call[string, Query]) (*Page, error) {
//		return db.Page(ctx, c.Tenant, c.Key)
//	}, compute.Config[string, Query, *Page]{Limit: 16, TTL: 10 * time.Second})
//	...
//	page, err := s.Do(ctx, tenant, query)
//
// A key belongs to its tenant: no tenant sees a result of another one. The key has to
// hold all that the result depends on. All callers share a result, so none may change
// it (Config.Clone hands out copies).
//
// # What protects what
//
// Executions are limited, and fair. Hits are not, as they pass no gate: a tenant that
// asks for kept results in a tight loop can take all processors. Over a network the
// request itself costs many times as much as a hit. There, put firqhttp or firqgrpc in
// front, which have a gate for requests.
//
// # Flights
//
// An execution of a key, with the calls that share it, is a flight. It is in one of
// these states:
//
//	       a call misses, and finds none
//	                  │
//	               queued ◄──── take ──── adrift
//	its leader gives  │ │                 ▲  │
//	up, others wait   │ └── hand over ────┘  │ the last
//	                  │                      │ leaves
//	 slot, begin      │  refused, or it      │
//	                  │  gives up alone      │
//	    ┌─────────────┴────────────┬─────────┘
//	    ▼                          ▼
//	executing ── publish ──────► over
//	    │ the last leaves          ▲
//	    ▼                          │
//	executing, cancelled, ─ publish┘
//	cannot be joined
//
// The leader of a queued flight waits at the gate with its own context. A leader whose
// context ends there hands over to a call that has joined: the baton is a channel of
// one place, filled under the lock of the shard, so a waiting call takes it, or the last
// call that leaves ends the flight. The leader of an executing flight runs exec on its
// own goroutine (without Config.Detach), so its context is not watched unless exec asks
// for its own; a call that would join a leader without other callers checks the
// leader's context first. The result is kept before the flight ends, both under the
// lock of the shard, and a call that finds no flight looks at the cache once more, under
// that lock. So nothing is made twice. Forget and Warm take the same lock, and mark the
// flights whose results must not be kept.
//
// # Calls by executions
//
// An Exec may call its own Server, other ones, and Batchers, with the context that it got, or
// one that comes from it. A call that would wait for an execution that waits for it, over
// whatever keys, Servers and Batchers, ends immediately with ErrCycle. (Of two calls that close a
// circle at the same time both may.) An execution counts as waiting for every call with its
// context, also for one by a goroutine that it does not wait for. With another context it waits until that ends. Where calls
// do not join (Config.NoCoalesce, keys that are not equal to themselves) nothing waits for
// another execution: an Exec that asks for its own key there calls itself.
//
// Such a call needs a slot while the outer execution keeps its own. If outer executions hold all slots,
// it waits until Config.Gate.MaxQueueAge refuses it with firq.ErrTimeout, and without
// MaxQueueAge for ever. Make results that other results are made of with a separate Server.
//
// # Groups
//
// With Config.Groups executions are divided among groups that each have a resource to
// themselves: a connection, a replica, a processor's cache. A key goes to its home group as
// long as that has a free slot, else to the first group in the key's own order that has
// less than Config.Spill times the mean load. The load of a group is the word of its
// gate; no second counter exists that could drift. All groups share the cache.
//
// # The cache
//
// The cache has one bound for all. When it is full, a tenant's entry takes the place of
// another one: of a tenant that is silent; else of the tenant that has most, perhaps itself.
// So each active tenant keeps Size / active tenants if it needs that much, whatever the
// others ask for, and what it does not need is divided among those that do; no number says
// so. A tenant is active if one of its calls is answered by the cache, or stores its
// result, each time that the cache turns over, evicts as many entries as it has; after two to
// four such turns without a call it is silent. Config.MaxPerTenant is an upper bound besides. An
// entry that is heavier than its tenant's part is kept if other tenants leave room for it; else
// it takes the place of no other one.
//
// Which of its entries a tenant gives is S3-FIFO's choice: new ones go through a window,
// an eighth, and stay if they are asked for there, or come back soon after they were
// evicted. An entry with keys and values of 8 bytes takes about 80
// bytes. From the millisecond in which an entry expires it is no longer an answer. A
// timer frees its memory somewhat later: after about a sixteenth of its time, a
// millisecond, and 2 µs for each entry in the cache. Config.Cache replaces this cache
// by another.
//
// # Concurrency properties
//
//	Do, DoInfo   a hit: lock-free, no allocation, one read of the clock; the first hit in
//	             a refresh window, and the first stale answer, start a goroutine.
//	             A miss takes the lock of its shard a few times, for a few instructions,
//	             and then waits as gate.Gate.Acquire does; alone it allocates once.
//	             If others insert too, one of them does that for up to 64 of them
//	DoMany       as that many calls of Do; a goroutine for each key that misses
//	Peek         as a hit
//	Forget, Warm take the lock of the key's shard, and insert or remove as a miss does
//	ForgetTenant, ForgetAll
//	             walk over all flights and entries, some at a time, each time with a lock
//	SetLimit, SetGroups, SetQuantum
//	             one at a time; they take the gates' locks
//	Stats        walks over the shards and gates, one lock at a time
//	Batcher.Do   as Enqueue of package lockfree; then one call takes the lock that
//	             collects batches
//
// Config.Cache's Set and Delete are called with the lock of a shard held, and so is Get,
// by calls that miss. No other user code runs under a lock.
//
// # Batches
//
// A Batcher is for backends that make many results as cheaply as one: its batches grow with
// load. A Server's Exec may call one.
package compute
