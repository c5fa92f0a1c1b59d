// Package pick chooses by name what a user lists: contestants, metrics, jobs.
package pick

import (
	"fmt"
	"slices"
	"strings"
)

// Named returns those of all that names lists, each once, in the order of all. An unknown name is an
// error that calls it a kind, and lists what there is.
func Named[T any](kind string, all []T, name func(*T) string, names []string) (chosen []T, err error) {
	var valid []string
	for i := range all {
		n := name(&all[i])
		valid = append(valid, n)
		if slices.Contains(names, n) {
			chosen = append(chosen, all[i])
		}
	}
	for _, n := range names {
		if !slices.Contains(valid, n) {
			return nil, fmt.Errorf("unknown %s %q; there are %s", kind, n, strings.Join(valid, ", "))
		}
	}
	return chosen, nil
}
