package status

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Nothing is changed without the token, from elsewhere, or with GET.
func TestToken(t *testing.T) {
	s := newSite(t, "127.0.0.1:0")
	s.die("no", "d1")
	form, cookie := s.form(), s.signedIn()
	origin := strings.TrimSuffix(s.server.URL(), "/")
	for name, c := range map[string]struct {
		token   string
		headers []string
		want    int
	}{
		"nothing":               {"", nil, 403},
		"wrong":                 {token + "0", nil, 403},
		"part":                  {token[:15], nil, 403},
		"the cookie only":       {"", cookie, 403},
		"the cookie as token":   {strings.TrimPrefix(cookie[1], "firqd="), cookie, 403},
		"another site":          {form, append([]string{"Sec-Fetch-Site", "cross-site"}, cookie...), 403},
		"another port":          {form, append([]string{"Sec-Fetch-Site", "same-site"}, cookie...), 403},
		"another origin":        {form, append([]string{"Origin", "http://evil.example"}, cookie...), 403},
		"another port's origin": {form, append([]string{"Origin", "http://127.0.0.1:1"}, cookie...), 403},
		"another host":          {token, []string{"Host", "evil.example"}, 403},
		"the form's":            {form, []string{"Origin", origin, "Sec-Fetch-Site", "same-origin"}, 303},
		"a program":             {token, nil, 303},
	} {
		for _, path := range []string{"pause", "resume", "requeue", "purge", "cancel", "forget"} {
			if c.want != 403 && path != "pause" {
				continue
			}
			code, _, text := s.ask(path, url.Values{"token": {c.token}, "all": {"yes"}}, c.headers...)
			if code != c.want {
				t.Errorf("%s, %s: %d, want %d: %s", path, name, code, c.want, text)
			}
			if st := s.stats(); c.want == 403 && st.Paused || st.DeadLetters != 1 {
				t.Fatalf("%s, %s: %+v", path, name, st)
			}
		}
		if err := s.q.Resume(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"pause", "purge?all=yes&token=" + token} {
		if code, _, _ := s.ask(path, nil, cookie...); code != http.StatusMethodNotAllowed {
			t.Errorf("GET %s: %d", path, code)
		}
	}
	if code, _, _ := s.ask("purge?all=yes&token="+token, url.Values{}); code != http.StatusForbidden {
		t.Error("a token in the address changes something")
	}
	if code, h, _ := s.ask("?token=wrong", nil); code != http.StatusForbidden || h.Get("Set-Cookie") != "" {
		t.Errorf("a wrong token: %d, %v", code, h)
	}
	if code, h, _ := s.ask("sign-in", url.Values{"token": {token}}); code != http.StatusSeeOther || h.Get("Set-Cookie") == "" {
		t.Errorf("sign in: %d, %v", code, h)
	}
	if _, _, text := s.ask("", nil, "Cookie", "firqd=x"); strings.Contains(text, `action="/pause"`) {
		t.Error("any cookie will do")
	}
	if st := s.stats(); st.Paused || st.DeadLetters != 1 {
		t.Errorf("%+v", st)
	}
}

// On the loopback interface a name that is not this machine's gets nothing.
func TestHost(t *testing.T) {
	s := newSite(t, "127.0.0.1:0", "firq.example")
	for host, want := range map[string]int{
		"localhost": 200, "LOCALHOST:99": 200, "127.0.0.1": 200, "127.9.9.9:1": 200, "[::1]": 200, "[::1]:80": 200, "Firq.example:443": 200,
		"[::ffff:127.0.0.1]:80": 200, "evil.example": 403, "localhost.evil.example": 403, "10.0.0.1:80": 403, "0.0.0.0": 403, "[::]:80": 403,
		"evil.example:localhost": 403, "localhost:1:1": 403, "2130706433": 403, "x.firq.example": 403,
	} {
		for _, path := range []string{"", "style.css", "healthz", "metrics", "?token=" + token} {
			code, h, text := s.ask(path, nil, "Host", host)
			if (code == 403) != (want == 403) || code == 403 && (strings.Contains(text, "mail") || h.Get("Set-Cookie") != "") {
				t.Errorf("/%s of %q: %d, want %d: %.100q", path, host, code, want, text)
			}
			if !strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors 'none'") || h.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("/%s of %q: %v", path, host, h)
			}
		}
	}
}

// A page that others can reach wants the token to be seen; it knows its names only if the option is set.
func TestExposed(t *testing.T) {
	s := newSite(t, "0.0.0.0:0")
	if !s.server.Exposed() {
		t.Fatal("it is not exposed")
	}
	s.enqueue("secret", "1")
	code, _, text := s.ask("", nil, "Host", "firq.example")
	if code != http.StatusUnauthorized || strings.Contains(text, "secret") || strings.Contains(text, "<dl") || !strings.Contains(text, `action="/sign-in"`) {
		t.Errorf("%d\n%s", code, text)
	}
	if code, _, text := s.ask("", nil, append([]string{"Host", "firq.example"}, s.signedIn()...)...); code != http.StatusOK || !strings.Contains(text, "secret") {
		t.Errorf("%d\n%s", code, text)
	}
	for _, path := range []string{"healthz", "metrics", "style.css"} {
		if code, _, _ := s.ask(path, nil, "Host", "firq.example"); code != http.StatusOK {
			t.Errorf("%s: %d", path, code)
		}
	}
	named := newSite(t, "0.0.0.0:0", "firq.example")
	for host, want := range map[string]int{"firq.example": 200, "evil.example": 403, "localhost": 200} {
		if code, _, _ := named.ask("healthz", nil, "Host", host); code != want {
			t.Errorf("%s: %d, want %d", host, code, want)
		}
	}
}
