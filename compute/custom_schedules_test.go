//go:build firq_failpoints

package compute

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// A call does not find what ForgetTenant has forgotten if ForgetAll is called in its midst, or
// ForgetTenant for more tenants than are remembered.
func TestForgottenTwice(t *testing.T) {
	for name, forget := range map[string]func(*Server[string, string, string]){
		"all":     func(s *Server[string, string, string]) { s.ForgetAll() },
		"another": func(s *Server[string, string, string]) { s.ForgetTenant("b") },
	} {
		s, err := New(func(context.Context, Call[string, string]) (string, error) { return "v", nil },
			Config[string, string, string]{TTL: time.Hour, Cache: newMapCache()})
		if err != nil {
			t.Fatal(err)
		}
		s.other.most = 1
		_, _ = s.Do(background, "a", "k")
		if _, _, ok := s.Peek("a", "k"); !ok {
			t.Fatal("nothing is kept")
		}
		s.ForgetTenant("a")
		restore := failpoint.AtMark("forgotten", sync.OnceFunc(func() { forget(s) }))
		if _, _, ok := s.Peek("a", "k"); ok {
			t.Errorf("%s: what was forgotten is found", name)
		}
		restore()
		_ = s.Close()
	}
}
