STRESS_TIME ?= 120
FUZZTIME    ?= 30s
# all packages but the single-threaded one and the command
CONCURRENT  ?= $$(go list ./... | grep -vE '/(cmd|drr|internal/bench)(/|$$)')

.PHONY: help test race stress fuzz bench lint

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-7s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

test: ## everything that CI checks; installs what it needs (scripts/test --help)
	scripts/test

race: ## the tests under the race detector, nothing else
	go test -race -timeout=10m ./...

stress: ## the concurrent packages again and again on 1, 2, 4, 16 processors; STRESS_TIME=120 (seconds)
	@end=$$(( $$(date +%s) + $(STRESS_TIME) )); pass=0; \
	while [ $$pass -eq 0 ] || [ $$(date +%s) -lt $$end ]; do \
		pass=$$((pass + 1)); echo "== pass $$pass"; \
		go test -race -count=1 -cpu=1,2,4,16 -timeout=30m $(CONCURRENT) || exit 1; \
	done; echo "== $$pass passes, none failed"

fuzz: ## each fuzz target in turn; FUZZTIME=30s (each)
	@targets=$$(go test -list '^Fuzz' ./... | awk \
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
