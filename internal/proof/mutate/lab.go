package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// lab is where mutants are tried.
type lab struct {
	options
	dir  string                   // temporary
	took map[killer]time.Duration // by the expected killers, without a fault

	wider func() (map[string][]string, error) // dependents, looked up once

	mu       sync.Mutex // for the rest, and what is printed
	began    time.Time
	done     int
	total    int
	survived []string
	wrong    []string
}

// sound runs the expected killers on the code as it is: a test that fails
// anyway kills nothing.
func (l *lab) sound(ctx context.Context, some []mutant) error {
	type build struct {
		pkg                   string
		race, schedules, long bool
	}
	l.took = map[killer]time.Duration{}
	var order []build
	tests := map[build][]string{}
	for _, m := range some {
		for _, k := range m.killers {
			b := build{k.pkg, k.race, k.schedules, k.long}
			if tests[b] == nil {
				order = append(order, b)
			}
			tests[b] = append(tests[b], k.test)
		}
	}
	for i, b := range order {
		began := time.Now()
		dir, pkg := within(b.pkg)
		g := goTest{dir: dir, pkgs: []string{pkg}, tests: tests[b], race: b.race, schedules: b.schedules, long: b.long, timeout: 10 * l.timeout}
		o, err := g.run(ctx)
		if err != nil {
			return err
		}
		if o.failed != "" {
			return fmt.Errorf("%s fails without any fault:\n%s", o.failed, o.output)
		}
		for _, name := range tests[b] {
			l.took[killer{b.pkg, name, b.race, b.schedules, b.long}] = o.took[name]
		}
		fmt.Printf("sound %d/%d  %s: %d tests pass without a fault, %s\n", i+1, len(order),
			how(b.pkg, b.race, b.schedules), o.ran, round(time.Since(began)))
	}
	return nil
}

// how names a build.
func how(pkg string, race, schedules bool) string {
	if schedules {
		pkg += " (schedules)"
	}
	if race {
		pkg += " (-race)"
	}
	return pkg
}

// killAll tries each mutant and reports.
func (l *lab) killAll(ctx context.Context, some []mutant) error {
	l.began, l.total = time.Now(), len(some)
	l.wider = sync.OnceValues(func() (map[string][]string, error) { return dependents(ctx) })
	next := make(chan int)
	var wg sync.WaitGroup
	for job := range min(l.jobs, len(some)) {
		var c buildCache
		if len(some) > few {
			c = buildCache(filepath.Join(l.dir, fmt.Sprintf("cache-%d", job)))
		}
		wg.Go(func() {
			for i := range next {
				l.kill(ctx, i, &some[i], c)
			}
		})
	}
	for i := range some {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	wg.Wait()
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return l.verdict()
}

// verdict prints the sum.
func (l *lab) verdict() error {
	killed := l.total - len(l.survived) - len(l.wrong)
	fmt.Printf("%d of %d mutants killed in %s\n", killed, l.total, round(time.Since(l.began)))
	for _, name := range l.survived {
		fmt.Printf("SURVIVED  %s\n", name)
	}
	for _, name := range l.wrong {
		fmt.Printf("WRONG     %s\n", name)
	}
	if killed < l.total {
		return fmt.Errorf("%d survived, %d are wrong", len(l.survived), len(l.wrong))
	}
	return nil
}

// kill tries one mutant and reports.
func (l *lab) kill(ctx context.Context, index int, m *mutant, c buildCache) {
	began := time.Now()
	by, err := l.try(ctx, index, m, c)
	if ctx.Err() != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done++
	switch {
	case err != nil:
		l.wrong = append(l.wrong, m.name)
		by = fmt.Sprintf("WRONG: %v", err)
	case by == "":
		l.survived = append(l.survived, m.name)
		by = "SURVIVED"
	}
	spent := time.Since(l.began)
	left := spent * time.Duration(l.total-l.done) / time.Duration(l.done)
	fmt.Printf("%*d/%d  %-55s %5.1fs  %s  (%s to go)\n", len(fmt.Sprint(l.total)), l.done, l.total,
		m.name, time.Since(began).Seconds(), by, round(left))
}

func round(d time.Duration) time.Duration { return d.Round(time.Second) }

// try returns what killed the mutant, "" for nothing.
func (l *lab) try(ctx context.Context, index int, m *mutant, c buildCache) (by string, err error) {
	if err := c.trim(keep); err != nil {
		return "", err
	}
	overlay, err := l.overlay(index, m)
	if err != nil {
		return "", err
	}
	for _, k := range m.killers {
		dir, pkg := within(k.pkg)
		g := goTest{dir: dir, pkgs: []string{pkg}, tests: []string{k.test}, race: k.race, schedules: k.schedules, long: k.long, overlay: overlay, cache: c}
		g.timeout = l.timeout + 10*l.took[k] // what is slow without a fault does not hang
		o, err := g.run(ctx)
		if err != nil {
			return "", err
		}
		if o.failed != "" {
			return how(o.failed, k.race, k.schedules), nil
		}
	}
	if !l.wide {
		return "", nil
	}
	return l.widely(ctx, overlay, m, c)
}

// widely lets everything have a try that depends on the file.
func (l *lab) widely(ctx context.Context, overlay string, m *mutant, c buildCache) (by string, err error) {
	all, err := l.wider()
	if err != nil {
		return "", err
	}
	pkgs := all[strings.TrimPrefix(path.Dir(m.file), ".")]
	dir, _ := within("./" + m.file)
	if dir != "" {
		pkgs = []string{"./..."}
	}
	for _, g := range []goTest{{}, {schedules: true}, {race: true}} {
		g.dir, g.pkgs, g.overlay, g.cache, g.timeout = dir, pkgs, overlay, c, 10*l.timeout
		o, err := g.run(ctx)
		if err != nil {
			return "", err
		}
		if o.failed != "" {
			return how(o.failed, g.race, g.schedules) + ", which was not expected", nil
		}
	}
	return "", nil
}

// overlay writes the faulty file and what go test -overlay reads.
func (l *lab) overlay(index int, m *mutant) (string, error) {
	if m.wrong != nil {
		return "", m.wrong
	}
	name, err := filepath.Abs(filepath.FromSlash(m.file))
	if err != nil {
		return "", err
	}
	faulty := filepath.Join(l.dir, fmt.Sprintf("%d.go", index))
	if err := os.WriteFile(faulty, []byte(m.faulty), 0o600); err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {name: faulty}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(l.dir, fmt.Sprintf("%d.json", index))
	return overlay, os.WriteFile(overlay, list, 0o600)
}

// within returns the folder of the module that a package or a file is in, "" for this module, and its path there.
func within(name string) (dir, rest string) {
	for dir = path.Clean(name); dir != "."; dir = path.Dir(dir) {
		if _, err := os.Stat(filepath.Join(filepath.FromSlash(dir), "go.mod")); err == nil {
			return dir, "./" + strings.TrimPrefix(strings.TrimPrefix(path.Clean(name), dir), "/")
		}
	}
	return "", name
}
