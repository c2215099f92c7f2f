package httpx

import (
	"net/http"
	"slices"
	"strings"
)

// exposedHeaders are the response headers that a page of another origin may read.
var exposedHeaders = strings.Join([]string{
	HeaderRequestID, "X-Request-Id", "Request-Id", "X-Loci-Trace", "X-Loci-Pending", "X-Loci-Warning", "Retry-After",
}, ", ")

// CORS lets pages of some origins, such as "https://chat.example.com", call next. It answers these pages'
// preflight requests, and removes Origin and cookies from their requests, so that the pages never act as a
// signed-in person. It passes on all other requests unchanged: those for which skip returns true, and those of
// other origins, which [Guard] refuses.
func CORS(origins []string, skip func(*http.Request) bool, next http.Handler) http.Handler {
	if len(origins) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		if skip(r) {
			next.ServeHTTP(w, r)
			return
		}
		h := w.Header()
		h.Add("Vary", "Origin")
		if !slices.Contains(origins, origin) {
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Access-Control-Allow-Origin", origin)
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
			h.Set("Access-Control-Max-Age", "600")
			if requested := r.Header.Get("Access-Control-Request-Headers"); requested != "" {
				h.Set("Access-Control-Allow-Headers", requested)
			}
			if r.Header.Get("Access-Control-Request-Private-Network") != "" {
				h.Set("Access-Control-Allow-Private-Network", "true")
			}
			w.WriteHeader(http.StatusNoContent)
			return
		}
		h.Set("Access-Control-Expose-Headers", exposedHeaders)
		for _, name := range []string{"Origin", "Cookie", "Sec-Fetch-Site", "Sec-Fetch-Mode"} {
			r.Header.Del(name)
		}
		next.ServeHTTP(w, r)
	})
}
