package page

import (
	"context"
	"encoding/json"
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
	Folded  int      `json:"folded"`
	Figures []struct {
		Title  string   `json:"title"`
		Series []string `json:"series"` // those that take up room
		Colour []string `json:"colour"`
		Ink    []string `json:"ink"`    // of the texts in the chart
		Text   float64  `json:"text"`   // size of the smallest letters, in pixels of the screen
		Height float64  `json:"height"` // of the figure
		Whole  bool     `json:"whole"`  // it is not divided between two sheets of paper
	} `json:"figures"`
}

// Pages are in frames, because the browser has no windows below 500 pixels. A
// frame's theme is that of what it is in.
const (
	head  = `<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light dark">`
	frame = `<iframe width="%d" height="900" style="border: 0" srcdoc="%s"></iframe>`
)

// measure opens all tables, puts shared frames into each chart, looks at where everything
// is, and leaves what it saw in the document, from where --dump-dom takes it. The page
// itself has no script, and forbids them.
const measure = `<script>
"use strict";
for (const d of document.querySelectorAll("details")) d.open = true;
for (const u of document.querySelectorAll("svg.chart > use")) u.replaceWith(document.querySelector(u.getAttribute("href")).cloneNode(true));
const r = {width: innerWidth, content: document.documentElement.scrollWidth, paper: getComputedStyle(document.body).backgroundColor, over: [], folded: 0, figures: []};
const inside = (a, b) => a.left >= b.left - 0.5 && a.right <= b.right + 0.5 && a.top >= b.top - 0.5 && a.bottom <= b.bottom + 0.5;
const name = e => e.tagName + " " + (e.className.baseVal ?? e.className) + " " + e.textContent.slice(0, 40);
for (const e of document.querySelectorAll("body *")) {
  if (e.closest(".scroll") && !e.matches(".scroll") || e.closest(".defs")) continue; // scrolls by itself, is not shown by itself
  const b = e.getBoundingClientRect();
  if (b.right > innerWidth + 0.5 || b.left < -0.5) r.over.push(name(e));
  if (e.matches("nav, details") && b.height == 0) r.folded++;
}
const on = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
for (const f of document.querySelectorAll("figure")) {
  const svg = f.querySelector("svg.chart"), box = svg.getBoundingClientRect();
  const fig = {title: f.querySelector("figcaption").textContent, series: [], colour: [], ink: [], text: 1e9,
    height: f.getBoundingClientRect().height, whole: getComputedStyle(f).breakInside == "avoid"};
  const texts = [...svg.querySelectorAll("text")].map(t => ({name: name(t), box: t.getBoundingClientRect(), style: getComputedStyle(t)}));
  const scale = svg.getScreenCTM().a;
  texts.forEach((t, i) => {
    if (!inside(t.box, box)) r.over.push("outside of its chart: " + t.name);
    for (const other of texts.slice(0, i)) if (on(t.box, other.box)) r.over.push("on each other: " + t.name + other.name);
    fig.text = Math.min(fig.text, parseFloat(t.style.fontSize) * scale);
    fig.ink.push(t.style.fill);
  });
  for (const g of svg.querySelectorAll(".series")) {
    const b = g.getBoundingClientRect();
    if (!inside(b, box)) r.over.push("outside of its chart: " + name(g));
    if (b.width + b.height > 0) {
      fig.series.push(g.querySelector("title").textContent);
      fig.colour.push(getComputedStyle(g).color);
    }
  }
  const keys = [...f.closest(".part").querySelectorAll(".legend li")].map(li => li.textContent + getComputedStyle(li.querySelector("svg")).color);
  fig.series.forEach((s, i) => { if (!keys.includes(s + fig.colour[i])) r.over.push("not in the legend as it is drawn: " + s); });
  r.figures.push(fig);
}
const out = document.createElement("pre");
out.className = "measured";
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

// look renders pages as if in windows of the given widths, and returns what the script saw
// in those that have it, in order of their width. Nothing may be said on the console.
func look(t *testing.T, browser string, dark bool, widths []int, pages []string) (all []seen) {
	t.Helper()
	var doc strings.Builder
	doc.WriteString(head)
	for i, page := range pages {
		fmt.Fprintf(&doc, frame, widths[i], html.EscapeString(page))
	}
	path := filepath.Join(t.TempDir(), "frame.html")
	if err := os.WriteFile(path, []byte(doc.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	args := []string{
		"--headless", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions", "--hide-scrollbars",
		"--user-data-dir=" + t.TempDir(), "--window-size=1500,1000", "--force-device-scale-factor=1",
		"--enable-logging=stderr", "--log-level=0", // has what is said on the console
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
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", browser, err, errs.String())
	}
	for line := range strings.Lines(errs.String()) {
		if strings.Contains(line, "CONSOLE") {
			t.Errorf("on the console: %s", line)
		}
	}
	for _, m := range regexp.MustCompile(`<pre class="measured">(.*?)</pre>`).FindAllSubmatch(out, -1) {
		var s seen
		if err := json.Unmarshal([]byte(html.UnescapeString(string(m[1]))), &s); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(a, b seen) int { return int(a.Width - b.Width) })
	return all
}

// scripted returns a page that measures itself.
func scripted(t *testing.T, text string) string {
	t.Helper()
	const policy = `<meta http-equiv="Content-Security-Policy"`
	if !strings.Contains(text, policy) || !strings.Contains(text, "</body>") {
		t.Fatal("the page has no policy, or no end")
	}
	return strings.Replace(strings.Replace(text, policy, `<meta name="policy"`, 1), "</body>", measure, 1)
}

// On a phone, a tablet and a wide screen, in both themes: nothing leaves the window or
// lies on something else, every chart shows its series, each in a colour of its
// own, as the legend has it, and what is written can be read. On paper it is as in the
// light theme, whatever the screen's is, and no chart is cut.
func TestBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	browser := chromium(t)
	text, charts := whole()
	for i := range charts {
		for j := range charts[i].series {
			charts[i].series[j] = html.UnescapeString(charts[i].series[j])
		}
	}
	page := scripted(t, text)
	// What a printer sees: the rules for paper, and none of those for screens.
	if !strings.Contains(text, "@media print {") || !strings.Contains(text, "@media screen and") {
		t.Fatal("the style sheet knows no paper")
	}
	paper := strings.NewReplacer("@media print {", "@media all {", "@media screen and", "@media print and").Replace(page)
	const sheet = 720 // pixels between the margins of A4
	inks := map[bool][]string{}
	papers := map[bool]string{}
	colours := map[string]string{} // by theme and series
	for _, dark := range []bool{false, true} {
		// The last one is the page as it is, under its policy.
		all := look(t, browser, dark, []int{360, sheet, 800, 1440, 800}, []string{page, paper, page, page, text})
		if len(all) != 4 {
			t.Fatalf("the browser measured %d pages", len(all))
		}
		for i, width := range []int{360, sheet, 800, 1440} {
			s, printed := all[i], width == sheet
			theme := dark && !printed
			if s.Width != float64(width) || s.Content > s.Width || len(s.Over) > 0 {
				t.Errorf("%d px: the window has %v, the page %v; too wide or on each other: %q", width, s.Width, s.Content, s.Over)
			}
			if papers[theme] == "" {
				papers[theme] = s.Paper
			}
			if papers[theme] != s.Paper || papers[!theme] == s.Paper {
				t.Errorf("%d px: the background is %s, in the themes %v", width, s.Paper, papers)
			}
			if printed != (s.Folded > 0) {
				t.Errorf("%d px: %d contents and folded tables take no room", width, s.Folded)
			}
			if len(s.Figures) != len(charts) {
				t.Fatalf("%d charts, want %d", len(s.Figures), len(charts))
			}
			for i, f := range s.Figures {
				at := fmt.Sprintf("%d px, dark %t: %s", width, dark, f.Title)
				if !slices.Equal(f.Series, charts[i].series) {
					t.Errorf("%s shows %q, want %q", at, f.Series, charts[i].series)
				}
				if len(slices.Compact(slices.Sorted(slices.Values(f.Colour)))) != len(f.Series) {
					t.Errorf("%s: colours %v", at, f.Colour)
				}
				if slices.ContainsFunc(f.Colour, func(c string) bool { return slices.Contains(f.Ink, c) }) {
					t.Errorf("%s: colours %v, one of which is that of letters, %v", at, f.Colour, f.Ink)
				}
				ink := slices.Compact(slices.Sorted(slices.Values(f.Ink)))
				if len(ink) != 2 || slices.Contains(ink, s.Paper) { // that of the axes' names and that of ticks
					t.Errorf("%s: letters in %v on %s", at, ink, s.Paper)
				}
				if inks[theme] == nil {
					inks[theme] = ink
				}
				if !slices.Equal(inks[theme], ink) || slices.ContainsFunc(ink, func(c string) bool { return slices.Contains(inks[!theme], c) }) {
					t.Errorf("%s: letters in %v, in the themes %v", at, ink, inks)
				}
				for j, name := range f.Series {
					key := fmt.Sprint(theme, name)
					if colours[key] == "" {
						colours[key] = f.Colour[j]
					}
					if colours[key] != f.Colour[j] {
						t.Errorf("%s: %s is %s, elsewhere %s", at, name, f.Colour[j], colours[key])
					}
				}
				if printed && (!f.Whole || f.Height > 1000) {
					t.Errorf("%s: %v high, whole %t, on a sheet of 1000", at, f.Height, f.Whole)
				}
				if least := 9.5; f.Text < least && !printed || f.Text < 8 {
					t.Errorf("%s: letters of %v pixels", at, f.Text)
				}
			}
		}
	}
}
