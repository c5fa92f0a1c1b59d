// Package differential compares the ways of a task into the engine (by ring, lane and lock, and by the lock alone: package
// baseline) call by call: a script of random calls, over a
// random configuration that may use every option, is run against each in a synctest bubble of
// its own, where time passes only when the script sleeps or a call waits. With one shard both
// have to give the same answers, deliver the same items in the same order, drop the same tasks
// for the same reasons, and report the same statistics.
//
// When an expired task is dropped is left to the core: a call that comes across it, or that meets a
// limit, drops it. So a script has deadlines or limits, not both, and statistics are compared as if all that had
// expired by then were dropped.
//
// Whether a call that is refused because its ticket is in use makes its tenant known, is left open
// too; tickets belong to one tenant each.
//
// When an idle tenant is forgotten is left to the core too: in a script in which tenants are, Stats,
// which looks at all tenants, is called whenever time has passed.
//
// There is no model, so it cannot see an error that both cores make. Package schedtest compares each with
// a model.
//
//	go test ./internal/proof/differential                                 # some hundred scripts
//	FIRQ_DIFFERENTIAL=100000 go test ./internal/proof/differential -run TestCores
//	go test ./internal/proof/differential -fuzz FuzzCores                 # guided by coverage
package differential
