package status

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq/queue"
)

// The pages of tasks show each state, page by page, and what was sent and answered to those who have the token only; they change what there is.
func TestTasks(t *testing.T) {
	s := newSite(t, "127.0.0.1:0")
	s.enqueue("<i>", "d<1")
	if _, err := s.q.Enqueue(t.Context(), queue.Task[json.RawMessage]{ID: "kept", Tenant: "<i>", Payload: json.RawMessage(`"<secret>"`), KeepResult: time.Hour, Headers: map[string]string{"h": "<v>"}}); err != nil {
		t.Fatal(err)
	}
	its, err := s.q.DequeueBatch(t.Context(), 2)
	if err != nil || len(its) != 2 {
		t.Fatal(its, err)
	}
	for _, it := range its {
		if it.ID == "kept" {
			if err := it.SetResult([]byte("<answer>")); err != nil {
				t.Fatal(err)
			}
			err = s.q.Ack(t.Context(), it)
		} else {
			err = s.q.Nack(t.Context(), it, queue.Retry{Dead: true, Reason: "<why>"})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for k := range tasksShown + 1 {
		s.enqueue("many", fmt.Sprintf("q%02d", k))
	}
	cookie := s.signedIn()
	has := func(path string, headers []string, code int, parts ...string) string {
		t.Helper()
		got, _, text := s.ask(path, nil, headers...)
		if got != code {
			t.Errorf("/%s: %d, want %d", path, got, code)
		}
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("/%s: %q is missing in\n%s", path, part, text)
			}
		}
		for _, never := range []string{"<i>", "<why>", "<secret>", "<answer>", "<v>", "style="} {
			if strings.Contains(text, never) {
				t.Errorf("/%s: %q is in\n%s", path, never, text)
			}
		}
		return text
	}
	first := has("tasks", nil, 200, `<a href="/task?id=q00">q00</a>`, "q49", "Due since", "Sign in to cancel", `<option selected>queued</option>`)
	next := regexp.MustCompile(`href="/(tasks\?[^"]*cursor=[^"]+)"`).FindStringSubmatch(first)
	if strings.Contains(first, "q50") || next == nil {
		t.Fatalf("no next page in\n%s", first)
	}
	if last := has(strings.ReplaceAll(next[1], "&amp;", "&"), nil, 200, "q50"); strings.Contains(last, "q49") || strings.Contains(last, "Next page") {
		t.Errorf("the last page is\n%s", last)
	}
	has("tasks?state=dead&tenant=%3Ci%3E", cookie, 200, "d&lt;1", "Died", `action="/requeue"`, `action="/purge"`, `value="&lt;i&gt;"`)
	has("tasks?state=completed", cookie, 200, "kept", "Kept until", `action="/forget"`)
	has("tasks?state=in+flight", nil, 200, "No such tasks")
	if text := has("task?id=kept", nil, 200, "completed", "Sign in to see its payload"); strings.Contains(text, "secret") || strings.Contains(text, "answer") || strings.Contains(text, "&lt;v") {
		t.Errorf("a stranger sees\n%s", text)
	}
	has("task?id=kept", cookie, 200, `u003csecret`, "&lt;answer&gt;", "&lt;v&gt;", "0 of 25", `action="/forget"`)
	has("task?id=d%3C1", cookie, 200, "&lt;why&gt;", "1 of 25", "Requeue d&lt;1")
	has("task?id=q00", cookie, 200, `action="/cancel"`)
	has("task?id=none", cookie, 404, "not found")
	has("task?id=%7B", cookie, 400, "id")
	has("tasks?state=x", cookie, 400, "State")
	has("tasks?cursor=x", cookie, 400, "Cursor")

	form := s.form()
	do := func(path, id, state string, code int) {
		t.Helper()
		got, h, text := s.ask(path, url.Values{"token": {form}, "id": {id}, "state": {state}, "of": {"a b"}}, cookie...)
		to := "/tasks?" + url.Values{"state": {state}, "tenant": {"a b"}}.Encode()
		if got != code || code == http.StatusSeeOther && h.Get("Location") != to {
			t.Errorf("/%s: %d, %v, %s", path, got, h, text)
		}
	}
	do("cancel", "q00", "queued", 303)
	do("cancel", "q00", "queued", 404)
	do("requeue", "d<1", "dead", 303)
	do("forget", "kept", "completed", 303)
	do("forget", "kept", "completed", 404)
	if st := s.stats(); st.Cancelled != 1 || st.Requeued != 1 || st.DeadLetters != 0 {
		t.Errorf("%+v", st)
	}
	has("task?id=kept", cookie, 404)
}

// Who can reach the server from elsewhere sees no task without the token.
func TestTasksExposed(t *testing.T) {
	s := newSite(t, "0.0.0.0:0")
	s.enqueue("secret", "secret")
	for _, path := range []string{"tasks", "task?id=secret"} {
		if code, _, text := s.ask(path, nil); code != http.StatusUnauthorized || strings.Contains(strings.ReplaceAll(text, "id=secret", ""), "secret") {
			t.Errorf("/%s: %d, %s", path, code, text)
		}
	}
}
