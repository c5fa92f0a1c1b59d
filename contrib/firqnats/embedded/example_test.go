package embedded_test

import (
	"fmt"

	"github.com/firq-go/firq/contrib/firqnats/embedded"
)

// A server for this process only, that forgets everything when it is closed.
func ExampleStart() {
	s, err := embedded.Start(embedded.Options{})
	if err != nil {
		panic(err)
	}
	defer s.Close()
	nc, err := s.Connect()
	if err != nil {
		panic(err)
	}
	defer nc.Close()
	fmt.Println(nc.IsConnected())
	// Output: true
}
