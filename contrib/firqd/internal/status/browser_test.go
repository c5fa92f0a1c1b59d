package status

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq/queue"
)

// frame shows a page in a window of a given width, with all details open, and prints what is seen of it.
const frame = `<body style="margin:0"><iframe style="border:0;width:%dpx;height:900px" srcdoc="%s"></iframe><pre id="measured"></pre><script>
window.onload = () => {
  const doc = document.querySelector("iframe").contentDocument, width = doc.documentElement.clientWidth, over = [];
  doc.querySelectorAll("details").forEach(d => { d.open = true; });
  for (const e of doc.body.querySelectorAll("*:not(.unseen):not(thead):not(thead *)")) {
    const box = e.getBoundingClientRect();
    if (box.width > 0 && (box.left < 0 || box.right > width + 0.5)) over.push(e.outerHTML.slice(0, 80));
  }
  const button = doc.querySelector("td.do button").getBoundingClientRect();
  document.getElementById("measured").textContent = JSON.stringify({
    Width: width, Content: doc.documentElement.scrollWidth, Over: over, Head: doc.querySelector("thead th").getBoundingClientRect().width,
    Paper: getComputedStyle(doc.body).backgroundColor, Ink: getComputedStyle(doc.body).color, Button: Math.round(button.height),
  });
};
</script>`

type seen struct {
	Width, Content, Head float64
	Button               float64 // its height
	Over                 []string
	Paper, Ink           string
}

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
		"--user-data-dir=" + t.TempDir(), "--window-size=1400,1000", "--host-resolver-rules=MAP * ~NOTFOUND",
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
		t.Fatalf("%s: %v", browser, err)
	}
	m := regexp.MustCompile(`<pre id="measured">(.+?)</pre>`).FindSubmatch(out)
	if m == nil {
		t.Fatalf("the browser measured nothing; it printed %d bytes", len(out))
	}
	if err := json.Unmarshal([]byte(html.UnescapeString(string(m[1]))), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// On a phone and at a desk nothing leaves the window, buttons can be hit, and the theme is the browser's.
func TestBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	browser, err := exec.LookPath("chromium")
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatal("CI has to have Chromium:", err)
	}
	if err != nil {
		t.Skip("NOT RUN: no Chromium to look at the page with; on Debian: apt-get install chromium")
	}
	s := newSite(t, "127.0.0.1:0")
	s.enqueue(strings.Repeat("W", queue.MaxName), "1")
	s.enqueue("small", "2")
	s.die(strings.Repeat("x", 300), strings.Repeat("M", queue.MaxName))
	if _, err := s.q.Dequeue(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, _, page := s.ask("", nil, s.signedIn()...)
	const link = `<link rel="stylesheet" href="/style.css">`
	if !strings.Contains(page, link) {
		t.Fatalf("no style in\n%s", page)
	}
	page = strings.Replace(page, link, "<style>"+style+"</style>", 1)
	_, _, tasks := s.ask("tasks?state=dead", nil, s.signedIn()...)
	if list := look(t, browser, strings.Replace(tasks, link, "<style>"+style+"</style>", 1), 360, false); list.Content > 360 || len(list.Over) > 0 || list.Button < 40 {
		t.Errorf("a phone's list of tasks: %+v", list)
	}
	phone, desk := look(t, browser, page, 360, false), look(t, browser, page, 1280, true)
	for width, s := range map[float64]seen{360: phone, 1280: desk} {
		if s.Width != width || s.Content > width || len(s.Over) > 0 || s.Button < 24 || s.Ink == s.Paper {
			t.Errorf("%v px: %+v", width, s)
		}
	}
	if phone.Button < 40 || phone.Button > 60 {
		t.Errorf("a phone's button is %v px high", phone.Button)
	}
	if phone.Paper == desk.Paper || phone.Ink == desk.Ink {
		t.Errorf("one theme: %+v, %+v", phone, desk)
	}
	if desk.Head < 20 {
		t.Errorf("the table at a desk has no head: %+v", desk)
	}
}
