package rest

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

// serveHealth answers health checks without parameters as the API would, but without building the API. It reports
// whether it answered the request.
func (d *handler) serveHealth(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodGet || r.URL.RawQuery != "" || r.ContentLength != 0 {
		return false
	}
	switch r.URL.Path {
	case "/health":
		w.Header().Set("Content-Type", "application/json")
		_ = huma.DefaultJSONFormat.Marshal(w, d.Health(r.Context())) // the client may have disconnected
	case "/health/live":
		w.WriteHeader(http.StatusNoContent)
	case "/health/ready":
		ready := d.Ready(r.Context())
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(readyStatus(ready))
		_ = huma.DefaultJSONFormat.Marshal(w, ready) // the client may have disconnected
	default:
		return false
	}
	return true
}
