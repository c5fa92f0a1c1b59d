package peers

// The package is imported for what it does when it is initialised.
import _ "github.com/firq-go/firq/benchmarks/actors/internal/conflict"
