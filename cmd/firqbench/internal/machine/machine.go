// Package machine says what a result was measured on.
package machine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// Env is the machine, the program and the command of a result.
type Env struct {
	Commit     string    `json:"commit"` // "unknown" outside a repository
	Modified   bool      `json:"modified"`
	GoVersion  string    `json:"go_version"`
	OS         string    `json:"os"`
	Arch       string    `json:"arch"`
	Kernel     string    `json:"kernel"`
	CPU        string    `json:"cpu"`
	Cores      int       `json:"cores"`
	GOMAXPROCS int       `json:"gomaxprocs"`
	Pinned     []int     `json:"pinned_cpus,omitempty"`   // the processors that the process was pinned to (--cpus)
	Quota      int       `json:"quota_percent,omitempty"` // of one processor's time, where it was limited (--quota)
	GOGC       string    `json:"gogc,omitempty"`
	Governor   string    `json:"governor,omitempty"` // CPU frequency governor, where the system tells
	Clock      string    `json:"clocksource,omitempty"`
	Load       string    `json:"load,omitempty"` // load average over 1 minute before the start
	Start      time.Time `json:"start"`
	Command    string    `json:"command"`
}

// String is what the tables of the comparisons in peers/ say of the machine.
func (e *Env) String() string {
	return fmt.Sprintf("%s, %s/%s, %s, %d cores, GOMAXPROCS %d, load %s, commit %.12s%s", e.GoVersion, e.OS, e.Arch, e.CPU,
		e.Cores, e.GOMAXPROCS, e.Load, e.Commit, map[bool]string{true: " (modified)"}[e.Modified])
}

// Read finds out about this process and its machine. What cannot be found out
// stays "unknown" or empty.
func Read() Env {
	e := Env{
		GoVersion: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		Kernel: kernel(), CPU: cpu(), Cores: runtime.NumCPU(), GOMAXPROCS: runtime.GOMAXPROCS(0),
		GOGC:     os.Getenv("GOGC"),
		Governor: firstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
		Clock:    firstLine("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
		Start:    time.Now().Truncate(time.Second),
		Command:  command(os.Args),
	}
	e.Load, _, _ = strings.Cut(firstLine("/proc/loadavg"), " ")
	e.Commit, e.Modified = commit()
	return e
}

// Difference is something that figures depend on and that two environments do
// not share.
type Difference struct{ Name, Old, New string }

// Differences returns what differs between the machine, system and Go of e and
// of o, in words. The program (commit), when and by which command are no part of
// it.
func (e *Env) Differences(o *Env) (ds []Difference) {
	list := func(cpus []int) string {
		if len(cpus) == 0 {
			return ""
		}
		return fmt.Sprint(cpus)
	}
	for _, d := range []Difference{
		{"the processor", e.CPU, o.CPU}, {"the number of cores", strconv.Itoa(e.Cores), strconv.Itoa(o.Cores)},
		{"GOMAXPROCS", strconv.Itoa(e.GOMAXPROCS), strconv.Itoa(o.GOMAXPROCS)},
		{"the processors it was pinned to", list(e.Pinned), list(o.Pinned)},
		{"the quota of processor time in percent", strconv.Itoa(e.Quota), strconv.Itoa(o.Quota)},
		{"the system", e.OS + "/" + e.Arch, o.OS + "/" + o.Arch}, {"the kernel", e.Kernel, o.Kernel},
		{"Go", e.GoVersion, o.GoVersion}, {"GOGC", e.GOGC, o.GOGC},
		{"the frequency governor", e.Governor, o.Governor}, {"the clock", e.Clock, o.Clock},
	} {
		if d.Old != d.New {
			ds = append(ds, d)
		}
	}
	return ds
}

// Program returns the SHA-256 of the running executable in hexadecimal, "" if it
// cannot be read. Two builds of the same sources by the same Go are alike.
func Program() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close() //nolint:errcheck // it was only read
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
}

const module = "github.com/firq-go/firq"

// command quotes what a shell would split. The program goes by its base name:
// with "go run" its path means nothing.
func command(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		if i == 0 {
			a = filepath.Base(a)
		}
		if a == "" || strings.ContainsAny(a, " \t\n'\"\\$*?<>|&;()") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		quoted[i] = a
	}
	return strings.Join(quoted, " ")
}

// built is the commit where the linker sets it (-X), as the Containerfile does, whose
// build has no repository; with "-modified" behind it if there were changes.
var built string

// commit asks the binary, and where that was built without version control
// ("go run" and -buildvcs=false leave it out) the repository around us.
func commit() (hash string, modified bool) {
	if built != "" {
		return strings.CutSuffix(built, "-modified")
	}
	if bi, ok := debug.ReadBuildInfo(); ok {
		if hash, modified = revision(bi); hash != "" {
			return hash, modified
		}
	}
	// Only if it is the repository of this program, not just any folder of its user.
	root := output("git", "rev-parse", "--show-toplevel")
	if root == "" || firstLine(filepath.Join(root, "go.mod")) != "module "+module {
		return "unknown", false
	}
	hash = output("git", "rev-parse", "HEAD")
	if hash == "" {
		return "unknown", false
	}
	return hash, output("git", "status", "--porcelain", "--untracked-files=no") != ""
}

// revision returns the commit that a binary was built from, or the release that "go install" has built;
// "": neither is known.
func revision(bi *debug.BuildInfo) (hash string, modified bool) {
	for _, s := range bi.Settings {
		switch s.Key {
		case "vcs.revision":
			hash = s.Value
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	if hash == "" && strings.HasPrefix(bi.Main.Version, "v") {
		hash = bi.Main.Version
	}
	return hash, modified
}

func kernel() string {
	if k := firstLine("/proc/sys/kernel/osrelease"); k != "" {
		return k
	}
	return orUnknown(output("uname", "-r"))
}

func cpu() string {
	switch runtime.GOOS {
	case "linux":
		if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
			for line := range strings.Lines(string(text)) {
				key, value, _ := strings.Cut(line, ":")
				switch strings.TrimSpace(key) {
				case "model name", "Model", "Hardware", "cpu model":
					return strings.TrimSpace(value)
				}
			}
		}
	case "darwin":
		return orUnknown(output("sysctl", "-n", "machdep.cpu.brand_string"))
	case "windows":
		return orUnknown(os.Getenv("PROCESSOR_IDENTIFIER"))
	}
	return "unknown"
}

// output runs a command that answers immediately; "" if it does not.
func output(name string, args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

func firstLine(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(line)
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
