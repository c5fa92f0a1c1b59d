// Package conflict lets hollywood and protoactor-go live in one program: both register a file actor.proto with
// google.golang.org/protobuf, which panics at the second one unless an environment variable says otherwise.
//
// Go initialises packages in the order of their import paths, each as soon as all that it imports is initialised.
// This one imports nothing but os, which protobuf imports too, and its path comes before google.golang.org: it is
// first. Were it not, no program with both would start. Children inherit the variable.
package conflict

import "os"

// Variable is the environment variable.
const Variable = "GOLANG_PROTOBUF_REGISTRATION_CONFLICT"

func init() {
	if os.Getenv(Variable) == "" {
		if err := os.Setenv(Variable, "ignore"); err != nil {
			panic(err)
		}
	}
}
