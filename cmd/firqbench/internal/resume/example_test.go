package resume_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
	"github.com/firq-go/firq/cmd/firqbench/internal/resume"
	"github.com/firq-go/firq/cmd/firqbench/internal/sweep"
)

// What one session has saved the next one finds.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "sweep")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "s.json")
	for range 3 {
		f, err := resume.Open(path, sweep.Plan{}, machine.Env{}, "", false)
		if err != nil {
			panic(err)
		}
		fmt.Println(f.Sweep.Done, "steps done")
		f.Sweep.Done++
		if err := resume.Save(f, path)(f.Sweep); err != nil {
			panic(err)
		}
	}
	// Output:
	// 0 steps done
	// 1 steps done
	// 2 steps done
}
