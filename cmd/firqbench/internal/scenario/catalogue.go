package scenario

import (
	"slices"
	"time"
)

// All returns the scenarios in the order of the report.
func All() []Scenario {
	return slices.Concat(crowds(), lessTime(), skews(), extras(), overloads(), alone())
}

// crowds are about how many send, and in which calls.
func crowds() []Scenario {
	return []Scenario{
		with(Scenario{
			Name:  "contended",
			About: "8 producers, 8 consumers, 64 tenants that all send alike",
			More: "The everyday case under full load: more goroutines than cores, every tenant busy. " +
				"What it measures is the cost of a task in a crowd.",
		}),
		with(Scenario{
			Name:  "deep_backlog",
			About: "the same, with 60,000 tasks queued all the time",
			More: "Consumers pause while less is under way. Each task comes out long after it went in: neither it nor what " +
				"leads to it is in a cache, and a queue that grows has grown.",
			Window: 60_000, Deep: true,
		}),
		with(Scenario{
			Name:  "calls_only",
			About: "2 producers, 2 consumers, one task per call and nothing else",
			More: "Few goroutines that do nothing but call, at any --work: a mutex is at its best here, because who " +
				"has just let go of it takes it again before another one is awake. No service looks like that.",
			Producers: 2, Consumers: 2, FixedWork: true,
		}),
		with(Scenario{
			Name:      "one_to_one",
			About:     "1 producer, 1 consumer, 64 tenants",
			More:      "With --work, the way most channels are used: two goroutines that do something between two calls.",
			Producers: 1, Consumers: 1,
		}),
		with(Scenario{
			Name:  "batches",
			About: "8 producers, 8 consumers, 64 tenants, 32 tasks per call",
			More: "The everyday case with batches on both sides. The work goes between two calls, not between two " +
				"tasks: what is left is what a task costs inside of a call.",
			Batch: 32, WorkPerCall: true,
		}),
		with(Scenario{
			Name:  "many_tenants",
			About: "100,000 tenants, each with a task now and then",
			More: "Nearly every task finds its tenant idle and has to make it active: the cost of a tenant's " +
				"coming and going, and of a working set larger than the caches.",
			Tenants: 100_000,
		}),
		with(Scenario{
			Name:  "many_tenants_by_handle",
			About: "the same, with a handle of each tenant",
			More: "Producers look no tenant up, as a service does not that keeps what it knows of a client " +
				"together. A contestant without handles is called with keys, as in many_tenants.",
			Tenants: 100_000,
			Handles: true,
		}),
	}
}

// lessTime are about less than two processors' time, as containers have it.
func lessTime() []Scenario {
	return []Scenario{
		with(Scenario{
			Name:  "busy_neighbour",
			About: "the everyday case with less than one processor for itself",
			More: "Another process keeps every processor busy with as many threads as there are processors, so that there is " +
				"less than one left for this one (up to 8 processors; with more, a ninth of each). Goroutines do not run side by side " +
				"then, and a thread that the operating system stops stays so for milliseconds, with the locks that its goroutine holds.",
			Neighbour: true,
		}),
		with(Scenario{
			Name:  "one_processor",
			About: "the everyday case with GOMAXPROCS=1",
			More: "A container with one processor. Goroutines do not run side by side, so a lock is found taken only if its " +
				"holder was preempted, and whatever is done to keep processors apart is done for nothing.",
			Processors: 1,
		}),
		with(Scenario{
			Name:  "one_processor_calls",
			About: "calls_only with GOMAXPROCS=1",
			More: "2 producers and 2 consumers that do nothing but call: what a task costs, and what it costs to let others " +
				"run.",
			Producers: 2, Consumers: 2, FixedWork: true, Processors: 1,
		}),
		with(Scenario{
			Name:    "one_processor_hot",
			About:   "single_hot_tenant with GOMAXPROCS=1",
			More:    "Nothing to be fair about, and no other processor: a channel is made for it.",
			Tenants: 1, Processors: 1,
		}),
		with(Scenario{
			Name:  "half",
			About: "the everyday case with a quota of half of the processors' time",
			More: "A container with a limit of processor time: once its share of 10 ms is used up the kernel stops it, whatever its " +
				"goroutines hold, until the next 10 ms begin. (Containers have 100 ms; a run is too short for that.) It takes Linux " +
				"and the right to make a control group; where that is missing firqbench run says so and leaves it out.",
			Quota: 50,
		}),
	}
}

// skews are about tenants that do not send alike.
func skews() []Scenario {
	return []Scenario{
		with(Scenario{
			Name:  "hot_tenant_sustained",
			About: "one tenant floods, 63 others send 50,000 tasks/s by the clock",
			More: "Half of the producers send to one tenant only and keep thousands of its tasks queued. The " +
				"other half sends for the quiet tenants, as clients do that do not wait: the same 50,000 tasks/s (Poisson) to " +
				"every contestant. So tasks/s is what the flood gets done, next to the same quiet load, and the queue time of " +
				"the quiet is what the flood does to them: first in, first out makes them wait behind it.",
			HotProducers: 4, QuietRate: 50_000, Focus: FocusQuiet,
		}),
		with(Scenario{
			Name:  "skewed_90",
			About: "90 % of the tasks go to one of 64 tenants",
			More: "Every producer sends nine tasks in ten to the same tenant, and the tenth to one of the others. " +
				"One tenant's queue is the hot spot; the others' tasks are few and should overtake.",
			HotShare: 0.9, Focus: FocusQuiet,
		}),
		with(Scenario{
			Name:  "zipf",
			About: "64 tenants by Zipf's law: the k-th sends in proportion to 1/k (see --skew)",
			More: "Skew as traffic often has it (exponent 1: the first tenant has 21 % of the tasks, the first ten have 62 %, " +
				"the last has a third of a percent). Quiet are all but the first.",
			Skew: 1, Focus: FocusQuiet,
		}),
		with(Scenario{
			Name:    "single_hot_tenant",
			About:   "8 producers, 8 consumers, one tenant",
			More:    "Nothing to be fair about, and no way to spread the load over shards: the worst case of a sharded design.",
			Tenants: 1,
		}),
	}
}

// extras are about what tasks and producers do besides.
func extras() []Scenario {
	return []Scenario{
		with(Scenario{
			Name:  "burst_massive",
			About: "bursts of 16,384 tasks, each drained before the next one",
			More: "Consumers run dry and park between bursts, then find 16,384 tasks. The queue time is that " +
				"of a task somewhere in a burst.",
			Window: 16_384, Burst: true,
		}),
		with(Scenario{
			Name:       "mixed_priorities",
			About:      "tasks of six priorities, mixed at random, from 64 tenants",
			More:       "Priorities count within a tenant. Look at the queue time of the critical tasks, compared with that of all.",
			Priorities: true, Focus: FocusCritical,
		}),
		with(Scenario{
			Name:  "deadline_expiration",
			About: "every task has a deadline, one in four is too late when its turn comes",
			More: "One task in four has 50 microseconds to live, which is less than the queue takes, the others " +
				"an hour. Only delivered tasks count as tasks/s; \"expired\" is the part of the accepted ones that was dropped.",
			ShortLife: 50 * time.Microsecond,
		}),
	}
}

// overloads are about more than can be served.
func overloads() []Scenario {
	return []Scenario{
		with(Scenario{
			Name:  "capacity_pressure",
			About: "overload: a queue of 1,024 tasks, 8 producers that do not wait, 2 consumers",
			More: "A task that finds the queue full (1,024, or 64 of its tenant) is rejected, and the producer goes " +
				"on with the next one; after 32 rejects it lets others run. Rejecting is the hot path; the latency of " +
				"the enqueue call includes it.",
			Consumers: 2, Capacity: 1024, PerTenant: 64, Reject: true,
		}),
		with(Scenario{
			Name:  "overload",
			About: "3 times as much as can be served, tasks that live 5 ms, 4 noisy and 60 quiet tenants",
			More: "A service that is past its limits: each of 2 consumers is busy for 20 microseconds of CPU time per " +
				"task, and the producers send by the clock, 3 times what that leaves room for, 19 tasks in 20 for the 4 noisy " +
				"tenants. What finds no room (1,024, or 128 of its tenant) is rejected. Look at the goodput (tasks delivered " +
				"before their deadline), at the queue time of the quiet tenants, which ask for a sixth of their share, and at " +
				"what a rejected call costs.",
			Consumers: 2, Capacity: 1024, PerTenant: 128, Reject: true,
			Overload: 3, FixedWork: true, Service: 20 * time.Microsecond, Life: 5 * time.Millisecond,
			HotShare: 0.95, HotTenants: 4, Focus: FocusQuiet,
		}),
	}
}

// alone are about the calls by themselves, without others in the way.
func alone() []Scenario {
	return []Scenario{
		with(Scenario{
			Name:  "uncontended",
			About: "one goroutine enqueues a task and dequeues it, 64 tenants in turn",
			More:  "The plain cost of the two calls: no other goroutine, no waiting, caches warm, each tenant idle before.",
			Shape: Pair, Producers: 1, Consumers: 1,
		}),
		with(Scenario{
			Name:  "ping_pong",
			About: "one task at a time, to a consumer that is parked",
			More: "The queue time is that from an enqueue to the parked consumer running with the task. " +
				"\"Back to back\": the task returns immediately, the goroutines take turns on a processor that is awake; " +
				"tasks/s counts round trips. \"1ms idle before\": everybody slept, and the producer keeps running, so that " +
				"the consumer needs a processor that is asleep too; tasks/s says nothing there.",
			Shape: PingPong, Producers: 1, Consumers: 1, Tenants: 1,
		}),
	}
}

// with fills in what most scenarios have in common.
func with(s Scenario) Scenario {
	if s.Shape == "" {
		s.Shape = Flow
	}
	setDefault(&s.Producers, 8)
	setDefault(&s.Consumers, 8)
	setDefault(&s.Tenants, 64)
	setDefault(&s.Batch, 1)
	setDefault(&s.Window, 4096)
	return s
}

func setDefault(field *int, value int) {
	if *field == 0 {
		*field = value
	}
}
