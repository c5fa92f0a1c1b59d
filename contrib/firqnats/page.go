package firqnats

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"html/template"
	"net/http"
	"slices"
	"time"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"ago": func(d time.Duration) string { return d.Round(100 * time.Millisecond).String() },
}).Parse(pageText))

// pageActors is how many actors the page shows.
const pageActors = 1000

// page is what Handler shows. The exported fields are those of its JSON.
type page struct {
	Members []Member
	Actors  []ActorInfo
	Error   string `json:",omitempty"` // of the question for actors
	More    bool   `json:",omitempty"` // there are more actors
	Cluster string `json:"-"`
	Kind    string `json:"-"`
}

// Handler returns a page of the nodes and their actors. ?kind=K: the actors of a kind; ?json=1: as JSON,
// {Members, Actors}. It shows keys: expose it only to people who may see them.
func (n *Node) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		p := n.page(r)
		var b bytes.Buffer
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if r.URL.Query().Get("json") != "" {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(&b).Encode(p)
		} else {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
			if err := pageTemplate.Execute(&b, p); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
		}
		_, _ = w.Write(b.Bytes())
	})
}

func (n *Node) page(r *http.Request) page {
	p := page{Members: n.Members(), Actors: []ActorInfo{}, Cluster: n.o.Cluster, Kind: r.URL.Query().Get("kind")}
	err := n.askActors(r.Context(), p.Kind, len(p.Members), func(i ActorInfo) bool {
		if p.More = len(p.Actors) == pageActors; !p.More {
			p.Actors = append(p.Actors, i)
		}
		return !p.More
	})
	if err != nil {
		p.Error = err.Error()
	}
	slices.SortFunc(p.Actors, func(a, b ActorInfo) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Key, b.Key))
	})
	return p
}
