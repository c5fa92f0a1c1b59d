// Crawler reads a web site: pages, the links in them, and so on. Actors that fetch wait for
// the network most of the time, and take no slot while they wait. One actor records what was seen,
// and decides what is fetched next. Another one computes, here a fingerprint of each page, and
// has its own thread.
//
//	go run ./examples/crawler
//
// The site is made up and served by the program itself. Some of its pages fail, and one of
// them makes the parser crash: its supervisor starts another.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/firq-go/firq/actor"
)

type crawl struct {
	pages, fetchers int
	latency         time.Duration
}

func main() {
	var cr crawl
	flag.IntVar(&cr.pages, "pages", 300, "pages of the site")
	flag.IntVar(&cr.fetchers, "fetchers", 16, "pages that are fetched at the same time")
	flag.DurationVar(&cr.latency, "latency", 10*time.Millisecond, "what the site takes to answer")
	flag.Parse()
	if err := cr.play(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "crawler:", err)
		os.Exit(1)
	}
}

// site answers /n with links to three other pages. Every 50th page is missing, and page 13
// crashes the parser.
func (cr crawl) site() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		time.Sleep(cr.latency)
		if err != nil || n%50 == 49 {
			http.NotFound(w, r)
			return
		}
		if n == 13 {
			_, _ = io.WriteString(w, "<blink>")
		}
		for k := 1; k <= 3; k++ {
			_, _ = fmt.Fprintf(w, `<a href="/%d">next</a>`, (n*3+k)%cr.pages)
		}
	})
}

// books is the state of the actor that knows what was seen.
type books struct {
	fetchers []actor.Ref[*fetcher]
	seen     map[string]bool
	next     int // the fetcher whose turn it is
	open     int // pages that are on their way
	read     int
	failed   []string
	done     chan struct{}
}

func (b *books) found(c *actor.Ctx, paths []string) error {
	for _, path := range paths {
		if b.seen[path] {
			continue
		}
		b.seen[path] = true
		if err := fetch.Tell(c, b.fetchers[b.next%len(b.fetchers)], path); err != nil {
			return err
		}
		b.next++
		b.open++
	}
	return nil
}

type outcome struct {
	path  string
	links []string
	err   error
}

func (b *books) settled(c *actor.Ctx, o outcome) error {
	if b.open--; o.err != nil {
		b.failed = append(b.failed, o.path+": "+o.err.Error())
	} else {
		b.read++
	}
	if err := b.found(c, o.links); err != nil {
		return err
	}
	if b.open == 0 {
		close(b.done)
	}
	return nil
}

// fetcher is the state of an actor that fetches.
type fetcher struct {
	base   string
	client *http.Client
	parser actor.Ref[parser]
	books  actor.Ref[*books]
}

func (f *fetcher) fetch(c *actor.Ctx, path string) error {
	o := outcome{path: path}
	var body string
	o.err = c.Await(func() (err error) { // gives up the slot immediately
		body, err = f.get(c, path)
		return err
	})
	if o.err == nil {
		o.links, o.err = parse.Call(c, f.parser, body)
	}
	return settled.Tell(c, f.books, o)
}

func (f *fetcher) get(ctx context.Context, path string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.base+path, nil)
	if err != nil {
		return "", err
	}
	res, err := f.client.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return "", errors.New(res.Status)
	}
	body, err := io.ReadAll(res.Body)
	return string(body), err
}

// parser has no state.
type parser struct{}

var link = regexp.MustCompile(`href="(/\d+)"`)

func (parser) parse(_ *actor.Ctx, body string) (links []string, err error) {
	if strings.HasPrefix(body, "<blink>") {
		panic("this page blinks")
	}
	sum := sha256.Sum256([]byte(body))
	for range 1000 { // stands for the work of a real parser
		sum = sha256.Sum256(sum[:])
	}
	for _, m := range link.FindAllStringSubmatch(body, -1) {
		links = append(links, m[1])
	}
	return links, nil
}

var (
	found   = actor.NewAction("Found", (*books).found)
	settled = actor.NewAction("Settled", (*books).settled)
	fetch   *actor.Method[*fetcher, string, struct{}] // found uses it, and it uses settled
	parse   = actor.NewMethod("Parse", parser.parse)
)

func init() { fetch = actor.NewAction("Fetch", (*fetcher).fetch) }

func (cr crawl) play(ctx context.Context, w io.Writer) error {
	server := httptest.NewServer(cr.site())
	defer server.Close()
	client := server.Client()
	defer client.CloseIdleConnections()
	sys, err := actor.New(actor.Config{})
	if err != nil {
		return err
	}
	defer func() { _ = sys.Close() }()
	sup, err := actor.Supervise(sys, "parsers", actor.Supervision{})
	if err != nil {
		return err
	}
	p, err := actor.Spawn(sup, "parser", func(*actor.Ctx) (parser, error) { return parser{}, nil }, actor.Dedicated())
	if err != nil {
		return err
	}
	b := &books{seen: map[string]bool{}, done: make(chan struct{})}
	keeper, err := actor.Spawn(sys, "books", actor.Value(b))
	if err != nil {
		return err
	}
	for range cr.fetchers {
		f, err := actor.Spawn(sys, "", actor.Value(&fetcher{server.URL, client, p, keeper}))
		if err != nil {
			return err
		}
		b.fetchers = append(b.fetchers, f) // nothing was sent yet
	}
	began := time.Now()
	if _, err := found.Call(ctx, keeper, []string{"/0"}); err != nil {
		return err
	}
	select {
	case <-b.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	took := time.Since(began)
	if err := sys.Shutdown(ctx); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "%d pages in %v, one by one it would have been %v at least; the parser was restarted %d times\n",
		b.read, took.Round(time.Millisecond), time.Duration(b.read)*cr.latency, sys.Stats().Restarts); err != nil {
		return err
	}
	for _, f := range b.failed {
		if _, err := fmt.Fprintln(w, "  failed:", f); err != nil {
			return err
		}
	}
	return nil
}
