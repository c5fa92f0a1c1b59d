STRESS_TIME ?= 5m
FUZZTIME    ?= 30s

.PHONY: help test quick lint race schedules models mutate stress fuzz bench api pictures hooks

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

test: ## everything that CI checks; installs what it needs (scripts/test --help)
	scripts/test

quick: ## what takes a few minutes of it
	scripts/test --quick

race: ## the tests under the race detector, nothing else
	go test -race -timeout=30m ./...

schedules: ## every schedule of small programs that changes goroutines a few times
	scripts/test schedules

models: ## search the models in docs/models/ with spin
	scripts/verify

mutate: ## plant faults one at a time, see scripts/mutate --help
	scripts/mutate

stress: ## the concurrent packages again and again, see scripts/stress --help; STRESS_TIME=5m
	scripts/stress --time $(STRESS_TIME)

fuzz: ## each fuzz target in turn; FUZZTIME=30s (each)
	@list=$$(go test -list '^Fuzz' ./...) || { echo "$$list" >&2; exit 1; }; \
	targets=$$(echo "$$list" | awk \
		'/^Fuzz/ {name[++n] = $$1} $$1 == "ok" {for (i = 1; i <= n; i++) print $$2 ":" name[i]; n = 0}'); \
	[ -n "$$targets" ] || { echo "no fuzz target found" >&2; exit 1; }; \
	for t in $$targets; do \
		echo "== $$t"; \
		go test -run '^$$' -fuzz "^$${t##*:}$$" -fuzztime $(FUZZTIME) "$${t%:*}" || exit 1; \
	done

bench: ## both cores and a channel on synthetic load (about two minutes)
	go run ./cmd/firqbench run

lint: ## gofmt, go vet, golangci-lint
	scripts/test format vet lint

api: ## what the public API has lost or changed since the last release
	scripts/api

pictures: ## draw docs/pictures from its sources
	scripts/pictures

hooks: ## check formatting and vet at each git commit from now on
	git config core.hooksPath scripts/hooks
