package peers

// Package conflict is imported for what it does when it is initialised.
import _ "github.com/firq-go/firq/cmd/firqbench/peers/actors/internal/conflict" // before hollywood and protoactor
