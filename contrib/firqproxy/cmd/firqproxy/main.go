// Command firqproxy stands before an HTTP service and lets its tenants take turns: it limits
// how many requests the service serves at a time and what each tenant may use per second.
//
//	firqproxy example >firqproxy.yaml
//	firqproxy check -c firqproxy.yaml
//	firqproxy run -c firqproxy.yaml
//
// SIGHUP reads the file again, SIGTERM and SIGINT end it once the requests that there are have
// been served. Exit codes: 0 done; 1 it failed, or not all requests ended in time; 2 wrong
// usage or configuration.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/firq-go/firq/contrib/firqproxy/internal/config"
	"github.com/firq-go/firq/contrib/firqproxy/internal/demo"
)

const usage = `firqproxy stands before an HTTP service, and lets its tenants take turns.

usage: firqproxy run -c FILE      forward requests as FILE says
       firqproxy check -c FILE    name all mistakes of FILE
       firqproxy example          print a FILE with comments
       firqproxy demo [-svg FILE] measure what a flood does to quiet tenants, with it and without
       firqproxy version

begin: firqproxy example >firqproxy.yaml, and write in it where the service is (upstream), how many
       requests it does well at a time (limits.slots), and whose request is whose (tenant)
`

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2 // or configuration
)

func main() { os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr)) }

// execute runs a command and returns the exit code.
func execute(args []string, out, errs io.Writer) int {
	if len(args) == 0 {
		_, _ = io.WriteString(errs, usage)
		return exitUsage
	}
	flags := flag.NewFlagSet("firqproxy "+args[0], flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.Usage = func() { _, _ = io.WriteString(errs, usage) }
	var file, svg string
	switch args[0] {
	case "run", "check":
		flags.StringVar(&file, "c", "", "the configuration")
	case "demo":
		flags.StringVar(&svg, "svg", "", "where to draw a picture")
	}
	if err := flags.Parse(args[1:]); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return exitOK
		}
		return exitUsage
	}
	needsFile := args[0] == "run" || args[0] == "check"
	if flags.NArg() > 0 || needsFile != (file != "") {
		flags.Usage()
		return exitUsage
	}
	switch args[0] {
	case "run", "check":
		cfg, err := config.Load(file, os.LookupEnv)
		if err != nil {
			for line := range strings.Lines(err.Error()) {
				_, _ = fmt.Fprintf(errs, "%s: %s\n", file, strings.TrimSuffix(line, "\n"))
			}
			return exitUsage
		}
		if args[0] == "check" {
			_, _ = fmt.Fprintln(out, "ok")
			return exitOK
		}
		log := slog.New(slog.NewTextHandler(errs, nil))
		if err := serve(context.Background(), file, cfg, log); err != nil {
			log.Error("it ends", "error", err)
			return exitFailed
		}
		return exitOK
	case "demo":
		if err := demo.Run(context.Background(), out, 4*time.Second, svg); err != nil {
			_, _ = fmt.Fprintln(errs, "firqproxy:", err)
			return exitFailed
		}
		return exitOK
	case "example":
		_, _ = io.WriteString(out, config.Example)
		return exitOK
	case "version", "--version":
		version := "unknown"
		if info, ok := debug.ReadBuildInfo(); ok {
			version = info.Main.Version
		}
		_, _ = fmt.Fprintf(out, "firqproxy version %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return exitOK
	case "help", "-h", "--help":
		_, _ = io.WriteString(out, usage)
		return exitOK
	}
	_, _ = fmt.Fprintf(errs, "firqproxy: unknown command: %s\n%s", args[0], usage)
	return exitUsage
}
