package rest

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

// probe answers how the server is, where nothing but that is asked, and reports whether it
// did: whoever watches a server, or waits for it to start, asks nothing else for hours. It
// answers what the API's operations do.
func (d *handler) probe(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodGet || r.URL.RawQuery != "" || r.ContentLength != 0 {
		return false
	}
	switch r.URL.Path {
	case "/health":
		w.Header().Set("Content-Type", "application/json")
		_ = huma.DefaultJSONFormat.Marshal(w, d.Health(r.Context())) // a client that is gone is not an error of ours
	case "/health/live":
		w.WriteHeader(http.StatusNoContent)
	case "/health/ready":
		is := d.Ready(r.Context())
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(readyStatus(is))
		_ = huma.DefaultJSONFormat.Marshal(w, is) // as above
	default:
		return false
	}
	return true
}
