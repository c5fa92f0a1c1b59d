package firqnats

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestPage(t *testing.T) {
	o := options(t)
	a, b := join(t, o), join(t, o)
	kind(t, a)
	kind(t, b)
	see(t, a, b)
	k := client(t, o)
	for _, key := range []string{"<b>x", "y", "z"} {
		must(add.Call(bounded(t), k.Ref(key), 1))(t)
	}
	get := func(method, query string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		a.Handler().ServeHTTP(w, httptest.NewRequestWithContext(bounded(t), method, "/"+query, nil))
		return w
	}
	var got struct {
		Members []Member
		Actors  []ActorInfo
	}
	if err := json.Unmarshal(get("GET", "?json=1").Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Members) != 3 || len(got.Actors) != 3 || got.Actors[0].Key != "<b>x" || got.Actors[0].State != "active" {
		t.Errorf("%+v", got)
	}
	if err := json.Unmarshal(get("GET", "?json=1&kind=other").Body.Bytes(), &got); err != nil || len(got.Actors) != 0 {
		t.Errorf("of another kind: %v, %+v", err, got.Actors)
	}
	w := get("GET", "")
	if s := w.Body.String(); !strings.Contains(s, "tally/&lt;b&gt;x") || strings.Contains(s, "<b>x") || !strings.Contains(s, a.ID()) {
		t.Error(s)
	}
	if w := get("POST", ""); w.Code != http.StatusMethodNotAllowed {
		t.Error("POST:", w.Code)
	}
}
