package page

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// seen is what the script below measures in the browser.
type seen struct {
	Width   float64  `json:"width"` // of the window
	Content float64  `json:"content"`
	Paper   string   `json:"paper"` // colour of the background
	Over    []string `json:"over"`  // what leaves the window, or its chart
	Figures []struct {
		Title  string   `json:"title"`
		Series []string `json:"series"` // those that take up room
		Colour []string `json:"colour"`
		Legend []string `json:"legend"`
		Ink    []string `json:"ink"`  // of the texts in the chart
		Text   float64  `json:"text"` // size of the smallest letters, in pixels of the screen
	} `json:"figures"`
}

// The page is in a frame, because the browser has no windows below 500 pixels. A
// frame's theme is that of what it is in.
const frame = `<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light dark"><iframe width="%d" height="900" style="border: 0" srcdoc="%s"></iframe>`

// measure opens all tables, looks at where everything is, and leaves what it saw
// in the document, from where --dump-dom takes it. The page itself has no script,
// and forbids them.
const measure = `<script>
"use strict";
for (const d of document.querySelectorAll("details")) d.open = true;
const r = {width: innerWidth, content: document.documentElement.scrollWidth, paper: getComputedStyle(document.body).backgroundColor, over: [], figures: []};
const inside = (a, b) => a.left >= b.left - 0.5 && a.right <= b.right + 0.5 && a.top >= b.top - 0.5 && a.bottom <= b.bottom + 0.5;
const name = e => e.tagName + " " + (e.className.baseVal ?? e.className) + " " + e.textContent.slice(0, 40);
for (const e of document.querySelectorAll("body *")) {
  if (e.closest(".scroll") && !e.matches(".scroll")) continue; // scrolls by itself
  const b = e.getBoundingClientRect();
  if (b.right > innerWidth + 0.5 || b.left < -0.5) r.over.push(name(e));
}
const on = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
for (const f of document.querySelectorAll("figure")) {
  const svg = f.querySelector("svg.chart"), box = svg.getBoundingClientRect();
  const fig = {title: f.querySelector("figcaption").textContent, series: [], colour: [], legend: [], ink: [], text: 1e9};
  const texts = [...svg.querySelectorAll("text")].map(t => ({name: name(t), box: t.getBoundingClientRect(), style: getComputedStyle(t)}));
  texts.forEach((t, i) => {
    if (!inside(t.box, box)) r.over.push("outside of its chart: " + t.name);
    for (const other of texts.slice(0, i)) if (on(t.box, other.box)) r.over.push("on each other: " + t.name + other.name);
    fig.text = Math.min(fig.text, parseFloat(t.style.fontSize) * box.width / svg.viewBox.baseVal.width);
    fig.ink.push(t.style.fill);
  });
  for (const g of svg.querySelectorAll(".series")) {
    const b = g.getBoundingClientRect();
    if (!inside(b, box)) r.over.push("outside of its chart: " + g.dataset.series);
    const first = g.querySelector("path");
    if (b.width + b.height > 0 && first) {
      fig.series.push(g.dataset.series);
      fig.colour.push(getComputedStyle(first).stroke);
    }
  }
  for (const li of f.querySelectorAll(".legend li")) fig.legend.push(li.textContent);
  r.figures.push(fig);
}
const out = document.createElement("pre");
out.id = "measured";
out.textContent = JSON.stringify(r);
parent.document.body.append(out);
</script></body>`

// chromium returns the browser, and skips the test where there is none; in CI
// there must be one.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("no Chromium; on Debian: apt-get install chromium")
	}
	t.Skip("NOT RUN: no Chromium to look at the page with; on Debian: apt-get install chromium")
	return ""
}

// look renders the page as if in a window of the given width.
func look(t *testing.T, browser, page string, width int, dark bool) (s seen) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "frame.html")
	if err := os.WriteFile(path, fmt.Appendf(nil, frame, width, html.EscapeString(page)), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	args := []string{
		"--headless", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions", "--hide-scrollbars",
		"--user-data-dir=" + t.TempDir(), "--window-size=1400,1000", "--force-device-scale-factor=1",
		"--host-resolver-rules=MAP * ~NOTFOUND", // nothing outside can be reached
	}
	if os.Geteuid() == 0 {
		args = append(args, "--no-sandbox") // it does not work for root
	}
	if dark {
		args = append(args, "--blink-settings=preferredColorScheme=0")
	}
	cmd := exec.CommandContext(ctx, browser, append(args, "--dump-dom", "file://"+path)...)
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Logf("%s", exit.Stderr)
		}
		t.Fatalf("%s: %v", browser, err)
	}
	m := regexp.MustCompile(`<pre id="measured">(.*?)</pre>`).FindSubmatch(out)
	if m == nil {
		t.Fatalf("the browser measured nothing; it printed %d bytes", len(out))
	}
	if err := json.Unmarshal([]byte(html.UnescapeString(string(m[1]))), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// On a phone and on a wide screen, in both themes: nothing leaves the window or
// lies on something else, every chart shows its series, each in a colour of its
// own, and what is written can be read.
func TestBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	browser := chromium(t)
	text, charts := whole()
	const policy = `<meta http-equiv="Content-Security-Policy"`
	if !strings.Contains(text, policy) || !strings.Contains(text, "</body>") {
		t.Fatal("the page has no policy, or no end")
	}
	text = strings.Replace(strings.Replace(text, policy, `<meta name="policy"`, 1), "</body>", measure, 1)
	papers := map[bool]string{}
	colours := map[string]string{} // by theme and series
	var inks, other []string       // of this theme, and of the one before
	for _, c := range []struct {
		width int
		dark  bool
	}{{360, false}, {1280, true}} {
		s := look(t, browser, text, c.width, c.dark)
		if s.Width != float64(c.width) || s.Content > s.Width || len(s.Over) > 0 {
			t.Errorf("%d px: the window has %v, the page %v; too wide or on each other: %q", c.width, s.Width, s.Content, s.Over)
		}
		if papers[!c.dark] == s.Paper {
			t.Errorf("the background is %s in both themes", s.Paper)
		}
		papers[c.dark] = s.Paper
		inks, other = nil, inks
		if len(s.Figures) != len(charts) {
			t.Fatalf("%d charts, want %d", len(s.Figures), len(charts))
		}
		for i, f := range s.Figures {
			want := charts[i].series
			for j := range want {
				want[j] = html.UnescapeString(want[j])
			}
			if !slices.Equal(f.Series, want) || !slices.Equal(f.Legend, want) {
				t.Errorf("%d px: %s shows %q, legend %q, want %q", c.width, f.Title, f.Series, f.Legend, want)
			}
			if len(slices.Compact(slices.Sorted(slices.Values(f.Colour)))) != len(want) {
				t.Errorf("%s: colours %v", f.Title, f.Colour)
			}
			if slices.ContainsFunc(f.Colour, func(c string) bool { return slices.Contains(f.Ink, c) }) {
				t.Errorf("%s: colours %v, one of which is that of letters, %v", f.Title, f.Colour, f.Ink)
			}
			ink := slices.Compact(slices.Sorted(slices.Values(f.Ink)))
			if len(ink) != 2 { // that of the axes' names and that of ticks
				t.Errorf("%s: letters in %v", f.Title, ink)
			}
			for _, c := range ink {
				if c == s.Paper || slices.Contains(other, c) {
					t.Errorf("%s: letters in %s, the colour of the background or of the other theme", f.Title, c)
				}
			}
			inks = append(inks, ink...)
			for j, name := range f.Series {
				key := fmt.Sprint(c.dark, name)
				if colours[key] == "" {
					colours[key] = f.Colour[j]
				}
				if colours[key] != f.Colour[j] {
					t.Errorf("%s: %s is %s, elsewhere %s", f.Title, name, f.Colour[j], colours[key])
				}
			}
			if f.Text < 9.5 {
				t.Errorf("%d px: %s: letters of %v pixels", c.width, f.Title, f.Text)
			}
		}
	}
}
