package trace

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

const ms = time.Millisecond

func read(text string) (*Trace, error) { return Read(strings.NewReader(text), "file") }

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text)) // to memory
	z.Close()
	return b.String()
}

func TestRead(t *testing.T) {
	two := []Request{{Tenant: 0, Cost: 2}, {At: 5 * ms, Tenant: 1, Cost: 3}}
	for _, c := range []struct {
		name, text string
		want       []Request
		tenants    string
	}{
		{"least", "at_ms,tenant,cost\n0,a,2\n5,b,3\n", two, "a b"},
		{"no newline at the end", "at_ms,tenant,cost\n0,a,2\n5,b,3", two, "a b"},
		{"CRLF, spaces, blank lines, a mark", "\ufeffAT_MS, tenant ,cost\r\n\r\n 0 , a, 2\r\n\r\n5,b,3\r\n\n", two, "a b"},
		{"other order of columns", "at_ms,cost,tenant\n0,2,a\n5,3,b\n", two, "a b"},
		{"time comes last", "tenant,cost,at_ms\na,2,0\nb,3,5\n", two, "a b"},
		{"starts late", "at_ms,tenant,cost\n1000,a,2\n1005,b,3\n", two, "a b"},
		{"not sorted", "at_ms,tenant,cost\n9,b,3\n4,a,2\n", []Request{{Tenant: 1, Cost: 2}, {At: 5 * ms, Tenant: 0, Cost: 3}}, "b a"},
		{"gzip", zipped("at_ms,tenant,cost\n0,a,2\n5,b,3\n"), two, "a b"},
		{"gzip in parts", zipped("at_ms,tenant,cost\n0,a,2\n") + zipped("5,b,3\n"), two, "a b"},
		{"quotes", "at_ms,tenant,cost\n0,\"a,\"\"x\",0\n", []Request{{Cost: 1}}, `a,"x`},
		{
			"all columns", "at_ms,tenant,cost,priority,deadline_ms\n0.25,a,2,6,1.5\n1.25,a,2,,\n2.25,a,2,0,0\n",
			[]Request{{Cost: 2, Priority: 6, Life: 1500 * time.Microsecond}, {At: ms, Cost: 2}, {At: 2 * ms, Cost: 2}}, "a",
		},
		{
			"Common Log Format",
			`::1 - bob [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.0" 200 2326` + "\n" +
				`h.example - - [10/Oct/2000:20:55:37 +0000] "-" 408 -` + "\n\n" +
				`::1 - - [10/Oct/2000:13:55:38 -0700] "GET /\"]x" 200 2048` + "\n",
			[]Request{{Cost: 3}, {At: time.Second, Tenant: 1, Cost: 1}, {At: 2 * time.Second, Cost: 2}}, "::1 h.example",
		},
		{
			"combined, the second line earlier",
			`a - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 304 0 "http://r" "agent \"x\""` + "\n" +
				`b - - [10/Oct/2000:13:55:35 -0700] "GET / HTTP/1.0" 200 1 "-" "-"`,
			[]Request{{Tenant: 1, Cost: 1}, {At: time.Second, Cost: 1}}, "a b",
		},
	} {
		got, err := read(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !reflect.DeepEqual(got.Requests, c.want) || strings.Join(got.Tenants, " ") != c.tenants {
			t.Errorf("%s: got %+v of %q, want %+v of %q", c.name, got.Requests, got.Tenants, c.want, c.tenants)
		}
	}
}

func TestReadErrors(t *testing.T) {
	const head = "at_ms,tenant,cost,priority,deadline_ms\n"
	clf := func(line string) string {
		return `a - - [10/Oct/2000:13:55:36 -0700] "GET /" 200 1` + "\n" + line
	}
	for _, c := range []struct{ text, want string }{
		{"", "file:0: there is no request"},
		{"\n \n", "file:2: there is no request"},
		{head, "file:1: there is no request"},
		{"hello world", "file:1: neither the header of a CSV trace (at_ms,tenant,cost,priority,deadline_ms"},
		{"at_ms,tenant\n0,a", `file:1: column "cost" is missing`},
		{"at_ms,tenant,cost,size\n", `file:1: unknown column "size"`},
		{"at_ms,tenant,cost,cost\n", `file:1: column "cost" is there twice`},
		{head + "0,a,1,,\n\n0,a\n", "file:4: 2 fields, the header has 5"},
		{head + "x,a,1,,", `file:2: at_ms: "x" is not a number`},
		{head + ",a,1,,", `file:2: at_ms: "" is not a number`},
		{head + "-1,a,1,,", "file:2: at_ms: -1, must be 0 to"},
		{head + "NaN,a,1,,", "file:2: at_ms: NaN, must be 0 to"},
		{head + "1e300,a,1,,", "file:2: at_ms: 1e300, must be 0 to"},
		{head + "0,,1,,", "file:2: tenant: is empty"},
		{head + "0," + strings.Repeat("a", maxName) + ",1,,\n0," + strings.Repeat("a", maxName+1) + ",1,,", "file:3: tenant: a name of 257 bytes"},
		{head + "0,a,1.5,,", `file:2: cost: "1.5" is not a whole number`},
		{head + "0,a,-1,,", "file:2: cost: -1, must be 0 to"},
		{head + "0,a,9000000000000000000,,", "file:2: cost: 9000000000000000000, must be 0 to"},
		{head + "0,a,99999999999999999999,,", "file:2: cost:"},
		{head + "0,a,1,7,", `file:2: priority: "7", must be 1`},
		{head + "0,a,1,high,", `file:2: priority: "high"`},
		{head + "0,a,1,,soon", `file:2: deadline_ms: "soon" is not a number`},
		{head + `0,"a,1,,`, "file:2: column"},
		{clf("b"), "file:2: no field after the client"},
		{clf("b - -"), "file:2: no [time]"},
		{clf("b - - [10/Oct/2000:13:55:36"), "file:2: no ] after the time"},
		{clf(`b - - [10/Okt/2000:13:55:36 -0700] "GET /" 200 1`), `file:2: time: "10/Okt/2000:13:55:36 -0700" is not like`},
		{clf(`b - - [10/Oct/9000:13:55:36 -0700] "GET /" 200 1`), "centuries away"},
		{clf(`b - - [10/Oct/2000:13:55:36 -0700] GET / 200 1`), `file:2: no "request"`},
		{clf(`b - - [10/Oct/2000:13:55:36 -0700] "GET / 200 1`), `file:2: no " at the end of the request`},
		{clf(`b - - [10/Oct/2000:13:55:36 -0700] "GET / \"`), `file:2: no " at the end of the request`},
		{clf(`b - - [10/Oct/2000:13:55:36 -0700] "GET /" ok 1`), `file:2: status: "ok"`},
		{clf(`b - - [10/Oct/2000:13:55:36 -0700] "GET /" 200`), `file:2: size: ""`},
		{clf(`b - - [10/Oct/2000:13:55:36 -0700] "GET /" 200 -5`), `file:2: size: "-5"`},
		{clf(`b - - [10/Oct/2000:13:55:36 -0700] "GET /" 200 9223372036854775807`), "file:2: size: 9223372036854775807 bytes, must be at most"},
		{head + strings.Repeat("x", maxLine+1), "file:2: the line is longer than"},
		{zipped(head + "0,a,1,,\n")[:30], "file:"},
		{"\x1f\x8b\x08", "file: "},
	} {
		got, err := read(c.text)
		if err == nil || !strings.HasPrefix(err.Error(), "file:") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: got %+v, %v; want an error with %q", c.text, got, err, c.want)
		}
	}
}

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.csv") // compressed in spite of its name
	if err := os.WriteFile(path, []byte(zipped("at_ms,tenant,cost\n0,a,2\n8,b,3\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	tr, err := ReadFile(path)
	if err != nil || tr.Span() != 8*ms || tr.Cost() != 5 || tr.Name != path {
		t.Errorf("%+v, %v", tr, err)
	}
	if _, err := ReadFile(path + "x"); !os.IsNotExist(err) {
		t.Errorf("a missing file: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	csv := "at_ms,tenant,cost,priority,deadline_ms\n0.5,\"a,b\",2,6,1.5\n\n9,c,0,,\n"
	clf := `::1 - bob [10/Oct/2000:13:55:36 -0700] "GET /\"a HTTP/1.0" 200 2326 "-" "-"` + "\n"
	for _, seed := range []string{"", csv, clf, clf + clf, zipped(csv), zipped(clf), zipped(csv)[:40], "\x1f\x8b", "\ufeff" + csv} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tr, err := Read(bytes.NewReader(data), "file")
		if err != nil {
			if !errorNamesALine(err, data) {
				t.Fatalf("error does not name file and line: %v", err)
			}
			return
		}
		last := time.Duration(0)
		for i, r := range tr.Requests {
			if r.At < last || r.Cost < 1 || r.Life < 0 || r.Priority > 6 || r.Tenant < 0 || r.Tenant >= len(tr.Tenants) {
				t.Fatalf("request %d: %+v after %v, %d tenants", i, r, last, len(tr.Tenants))
			}
			last = r.At
		}
		if len(tr.Requests) == 0 || tr.Requests[0].At != 0 || tr.Cost() < int64(len(tr.Requests)) {
			t.Fatalf("%d requests, cost %d", len(tr.Requests), tr.Cost())
		}
		seen := make(map[string]bool)
		for _, name := range tr.Tenants {
			if name == "" || seen[name] {
				t.Fatalf("tenant %q is empty or there twice", name)
			}
			seen[name] = true
		}
		again, err := read(write(rows(tr), []int{0, 1, 2, 3, 4}))
		if err == nil {
			err = sameRows(rows(again), rows(tr))
		}
		if err != nil {
			t.Fatalf("written and read again: %v", err)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	var text strings.Builder
	text.WriteString("at_ms,tenant,cost\n")
	for i := range 10_000 {
		fmt.Fprintf(&text, "%d,t%04d,%d\n", i, i%1000, i%100)
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if _, err := read(text.String()); err != nil {
			b.Fatal(err)
		}
	}
}
