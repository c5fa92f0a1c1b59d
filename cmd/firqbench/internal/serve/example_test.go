package serve_test

import (
	"fmt"
	"io"
	"net/http"

	"github.com/firq-go/firq/cmd/firqbench/internal/serve"
)

func Example() {
	s, err := serve.Start("localhost:0", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half done")
	}))
	if err != nil {
		panic(err)
	}
	resp, err := http.Get(s.URL())
	if err != nil {
		panic(err)
	}
	text, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	fmt.Println(string(text), s.Exposed(), s.Close())
	// Output: half done false <nil>
}
