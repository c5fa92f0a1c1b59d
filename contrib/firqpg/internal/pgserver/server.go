// Package pgserver runs the installed PostgreSQL for tests: in a separate folder, reached by a socket in it, so that there is no port to
// find. A server never outlives the tests, however these end: a shell waits for the end of its input, which is theirs.
package pgserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a server of one test, or of all.
type Server struct {
	Dir string // of data, socket and log

	bin      string
	settings []string
	shell    *exec.Cmd
	alive    io.WriteCloser // its input
}

// Find returns the folder of the server's programs: that of postgres in PATH, or else Debian's with the greatest version.
func Find() (string, error) {
	if path, err := exec.LookPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path), nil
		}
	}
	all, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	version := func(path string) int {
		n, _ := strconv.Atoi(strings.Split(path, "/")[4])
		return n
	}
	if len(all) == 0 {
		return "", errors.New("postgres is not installed (apt-get install postgresql)")
	}
	return filepath.Dir(slices.MaxFunc(all, func(a, b string) int { return version(a) - version(b) })), nil
}

// New makes a folder with an empty server, which is not started. Settings are as in postgresql.conf: "fsync = off".
func New(settings ...string) (*Server, error) {
	s, err := folder(settings)
	if err != nil {
		return nil, err
	}
	if err := s.run("initdb", "--pgdata", s.data(), "--username", "postgres", "--auth", "trust", "--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync"); err != nil {
		s.remove()
		return nil, err
	}
	return s, s.configure()
}

func folder(settings []string) (*Server, error) {
	bin, err := Find()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "firqpg")
	if err != nil {
		return nil, err
	}
	s := &Server{Dir: dir, bin: bin, settings: settings}
	if err := own(dir); err != nil {
		s.remove()
		return nil, err
	}
	return s, nil
}

func (s *Server) data() string { return filepath.Join(s.Dir, "data") }

func (s *Server) remove() { _ = os.RemoveAll(s.Dir) }

// configure appends the settings, and those that all tests need.
func (s *Server) configure() error {
	f, err := os.OpenFile(filepath.Join(s.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	all := append([]string{"listen_addresses = ''", "unix_socket_directories = '" + s.Dir + "'", "max_connections = 200", "log_min_messages = warning"}, s.settings...)
	_, err = f.WriteString("\n" + strings.Join(all, "\n") + "\n")
	return errors.Join(err, f.Close())
}

// run runs one of the server's programs, as the user that it has to run as.
func (s *Server) run(program string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, filepath.Join(s.bin, program), args...)
	c.SysProcAttr, c.Dir = asUser(), s.Dir
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, out)
	}
	return nil
}

// shell starts the server ($1, with the data in $2 and the log in $3), and stops it when its input ends. Then it removes the folder ($4), unless it
// has read that it is to keep it.
const shell = `"$1" -D "$2" >>"$3" 2>&1 </dev/null &
server=$!
read -r line
kill -QUIT $server 2>/dev/null
wait $server
[ "$line" = keep ] || rm -rf "$4"`

// DSN is how to connect to a database.
func (s *Server) DSN(database string) string {
	return fmt.Sprintf("postgres://postgres@/%s?host=%s&sslmode=disable", url.PathEscape(database), url.QueryEscape(s.Dir))
}

// Start starts the server, and waits until it answers.
func (s *Server) Start() error {
	s.shell = exec.Command("sh", "-c", shell, "sh", filepath.Join(s.bin, "postgres"), s.data(), filepath.Join(s.Dir, "log"), s.Dir)
	s.shell.SysProcAttr, s.shell.Dir = asUser(), s.Dir
	in, err := s.shell.StdinPipe()
	if err == nil {
		s.alive = in
		err = s.shell.Start()
	}
	if err != nil {
		return err
	}
	for range 1500 {
		var c *pgx.Conn
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		if c, err = pgx.Connect(ctx, s.DSN("postgres")); err == nil {
			err = c.Close(ctx)
		}
		cancel()
		if err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	log, _ := os.ReadFile(filepath.Join(s.Dir, "log"))
	s.Kill()
	return fmt.Errorf("postgres does not answer: %w: %s", err, log)
}

// Kill ends all processes of the server as a crash of the machine does, and keeps its folder.
func (s *Server) Kill() {
	if s.shell == nil {
		return
	}
	if all := s.pids(); len(all) > 0 {
		stop(all[0]) // so that it starts none in between
		all = s.pids()
		for _, pid := range all[1:] {
			kill(pid)
		}
		kill(all[0])
		for _, pid := range all { // the next server finds none of them
			for k := 0; k < 1000 && alive(pid); k++ {
				time.Sleep(5 * time.Millisecond)
			}
		}
	}
	s.end("keep\n")
}

func kill(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}

// alive reports whether a process is there, and no zombie.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(b), ") ")
	return err == nil && !strings.HasPrefix(rest, "Z")
}

// pids returns the server's processes, the first one first.
func (s *Server) pids() (all []int) {
	b, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	if err != nil {
		return nil
	}
	first, _, _ := strings.Cut(string(b), "\n")
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		stat := string(b)
		_, rest, _ := strings.Cut(stat, ") ")
		if f := strings.Fields(rest); len(f) > 1 && f[1] == first {
			if pid, err := strconv.Atoi(strings.Fields(stat)[0]); err == nil {
				all = append(all, pid)
			}
		}
	}
	if pid, err := strconv.Atoi(first); err == nil {
		all = append([]int{pid}, all...)
	}
	return all
}

// CPU returns the processor time of all processes of the server, those that have ended too. Linux only.
func (s *Server) CPU() (total time.Duration) {
	for i, pid := range s.pids() {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(b), ") ")
		f := strings.Fields(rest)
		last := 13 // utime, stime
		if i == 0 {
			last = 15 // and those of children that have ended
		}
		for _, n := range f[11:last] {
			ticks, _ := strconv.ParseInt(n, 10, 64)
			total += time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	return total
}

func (s *Server) end(say string) {
	_, _ = io.WriteString(s.alive, say)
	_ = s.alive.Close()
	_ = s.shell.Wait()
	s.shell = nil
}

// Stop stops the server and removes its folder.
func (s *Server) Stop() {
	if s.shell != nil {
		s.end("")
	}
	s.remove()
}

// Run starts a program as the server's user, in its folder, and returns what ends it.
func (s *Server) Run(program string, args ...string) (stop func(), err error) {
	c := exec.Command(program, args...)
	c.SysProcAttr, c.Dir = asUser(), s.Dir
	if err := c.Start(); err != nil {
		return nil, err
	}
	return func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	}, nil
}

// Standby makes a server that follows this one, which is running; it is not started. name is its application_name.
func (s *Server) Standby(name string) (*Server, error) {
	t, err := folder(s.settings)
	if err != nil {
		return nil, err
	}
	err = t.run("pg_basebackup", "-h", s.Dir, "-U", "postgres", "-D", t.data(), "--checkpoint=fast", "--wal-method=stream", "--no-sync", "--write-recovery-conf")
	if err == nil {
		t.settings = append(slices.Clone(s.settings), "cluster_name = '"+name+"'")
		err = t.configure()
	}
	if err != nil {
		t.remove()
		return nil, err
	}
	return t, nil
}

// Promote makes a standby a primary.
func (s *Server) Promote() error { return s.run("pg_ctl", "promote", "-D", s.data(), "--wait") }

// Dump copies a database to another server.
func (s *Server) Dump(database string, to *Server) error {
	file := filepath.Join(to.Dir, "dump")
	if err := s.run("pg_dump", "-h", s.Dir, "-U", "postgres", "-f", file, database); err != nil {
		return err
	}
	return to.run("psql", "-h", to.Dir, "-U", "postgres", "-d", database, "-q", "-v", "ON_ERROR_STOP=1", "-f", file)
}
