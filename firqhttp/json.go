package firqhttp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"time"

	"github.com/firq-go/firq/compute"
)

// JSONConfig is how JSON answers. The zero value works.
type JSONConfig struct {
	// Name is the cache's name in Cache-Status; empty: compute.
	Name string
	// Error may answer a request that failed: with what key returned, or the execution if
	// that is not for RejectError to answer (a *compute.PanicError, say), or with why the result
	// cannot be written as JSON. It reports whether it has written an answer; it may as
	// well just log. If it has not, or is nil, key's error is answered with 400, and any
	// other with 500 and nothing about it.
	Error func(w http.ResponseWriter, r *http.Request, err error) bool
	// HoldBack is the longest that a refusal is held back if a tenant gets many of them, as
	// Config.HoldBack says. 0: DefaultHoldBack, 1 s; below 0: never.
	HoldBack time.Duration
}

// JSON returns a handler that answers GET and HEAD with a result of s, written as JSON.
// Whose it is, and which, key reads from the request: the tenant must be one that was
// verified, and whatever the result depends on must be in the key.
//
//	mux.Handle("GET /prices/{item}", firqhttp.JSON(prices, func(r *http.Request) (string, string, error) {
//		return tenantOf(r), r.PathValue("item"), nil
//	}, firqhttp.JSONConfig{}))
//
// Refusals, ends of the request's context and firq.ErrClosed are answered as by RejectError, other
// methods with 405. A panic of the execution is a 500; the server has logged it, or told its
// OnPanic (compute.Config). CacheStatus tells of every answer that is not a refusal where it comes from.
//
// A result has a weak ETag, made of its JSON, so a client that has it already is
// answered with 304. It is the client's alone (Cache-Control: private, no-cache), unless a handler
// outside has set Cache-Control. Each request encodes the result anew, hits too; if that is
// expensive, let exec do it and make V json.RawMessage, whose syntax alone is checked.
//
// JSON panics if s or key is nil. If key, Error, Config.Clone or a MarshalJSON panics, so
// does the handler, which holds nothing then.
func JSON[T, K comparable, V any](s *compute.Server[T, K, V], key func(*http.Request) (tenant T, key K, err error), cfg JSONConfig) http.Handler {
	if s == nil || key == nil {
		panic("firq: firqhttp: JSON: s and key must not be nil")
	}
	if cfg.Name == "" {
		cfg.Name = "compute"
	}
	held := newHolder(cfg.HoldBack)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
			return
		}
		tenant, k, err := key(r)
		if err != nil {
			cfg.fail(w, r, err, Rejection{Reason: BadRequest, Status: http.StatusBadRequest, Err: err})
			return
		}
		v, info, err := s.DoInfo(r.Context(), tenant, k)
		CacheStatus(w.Header(), cfg.Name, info)
		if rej, refused := refusal(err); refused {
			if rej.immediate() {
				held.wait(r, place(held, tenant))
			}
			WriteProblem(w, r, rej)
			return
		}
		var text []byte
		if err == nil {
			text, err = json.Marshal(v)
		}
		if err != nil {
			cfg.fail(w, r, err, Rejection{Reason: Internal, Status: http.StatusInternalServerError, Err: err})
			return
		}
		writeJSON(w, r, append(text, '\n'))
	})
}

// fail answers a request that failed.
func (c *JSONConfig) fail(w http.ResponseWriter, r *http.Request, err error, rej Rejection) {
	if c.Error == nil || !c.Error(w, r, err) {
		WriteProblem(w, r, rej)
	}
}

// writeJSON answers with a text, or that the client has it. The tag is weak, as a proxy
// outside may compress.
func writeJSON(w http.ResponseWriter, r *http.Request, text []byte) {
	sum := sha256.Sum256(text)
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Etag", `W/"`+hex.EncodeToString(sum[:16])+`"`)
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "private, no-cache")
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text)) // HEAD, If-None-Match, Content-Length
}
