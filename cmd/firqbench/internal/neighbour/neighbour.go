// Package neighbour keeps the processors busy from another process, as strangers on
// the same machine do: the operating system, not Go, then decides which thread runs when.
//
// The other process is this program once more, told by its environment. Whatever
// program imports the package can be it: it burns processor time instead of doing
// what it is for, and ends when its standard input does, be it that Stop was called
// or that the parent has died.
package neighbour

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"
)

const variable = "FIRQBENCH_NEIGHBOUR"

// mostPerProcessor bounds the threads that Threads asks for.
const mostPerProcessor = 8

// startLimit is how long the other process may take to get going.
const startLimit = 20 * time.Second

func init() {
	n, err := strconv.Atoi(os.Getenv(variable))
	if err != nil || n < 1 {
		return
	}
	burn(n)
	os.Exit(0)
}

// burn keeps n threads busy until the standard input ends.
func burn(n int) {
	runtime.GOMAXPROCS(n + 1) // one to hear of the end
	for range n {
		go func() {
			for { //nolint:staticcheck // that is its purpose
			}
		}()
	}
	fmt.Println("busy")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// Threads returns how many threads leave a program with the given number of processors less than
// one of them, if the operating system shares them out evenly among threads: as many
// for each as there are. From 9 processors on it leaves more: one in nine.
func Threads(processors int) int { return processors * min(processors, mostPerProcessor) }

// Neighbour is the other process.
type Neighbour struct {
	cmd  *exec.Cmd
	life io.Closer // its standard input
}

// Start starts one with the given number of busy threads, and waits until they are.
func Start(threads int) (*Neighbour, error) {
	if os.Getenv(variable) != "" {
		return nil, errors.New("a neighbour has none")
	}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("neighbour: %w", err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", variable, threads), "GOGC=off")
	life, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("neighbour: %w", err)
	}
	said, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("neighbour: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("neighbour: %w", err)
	}
	n := &Neighbour{cmd: cmd, life: life}
	late := time.AfterFunc(startLimit, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	if _, err := io.ReadFull(said, make([]byte, len("busy"))); err != nil {
		n.Stop()
		return nil, fmt.Errorf("neighbour: has not started: %w", err)
	}
	return n, nil
}

// Stop ends it and waits for its end.
func (n *Neighbour) Stop() {
	_ = n.life.Close()
	_ = n.cmd.Process.Kill() // with all processors busy it may take long to hear of it
	_ = n.cmd.Wait()         // "killed" is what it says
}
