package web

import (
	"compress/gzip"
	"net/http"
	"strings"
)

// squeezed answers with gzip where the client takes it and the answer is a page.
// Pages hold no secret that another site could find out by their length: sessions
// are in cookies that scripts do not see, and forms have no tokens.
func squeezed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			next.ServeHTTP(w, r)
			return
		}
		s := &squeezer{ResponseWriter: w}
		defer s.close()
		next.ServeHTTP(s, r)
	})
}

type squeezer struct {
	http.ResponseWriter
	zip *gzip.Writer
}

// WriteHeader begins the answer; only now is it known what it is.
func (s *squeezer) WriteHeader(status int) {
	h := s.Header()
	if strings.HasPrefix(h.Get("Content-Type"), "text/html") && h.Get("Content-Encoding") == "" {
		h.Set("Content-Encoding", "gzip")
		h.Set("Vary", "Accept-Encoding")
		h.Del("Content-Length")
		s.zip = gzip.NewWriter(s.ResponseWriter)
	}
	s.ResponseWriter.WriteHeader(status)
}

func (s *squeezer) Write(p []byte) (int, error) {
	if s.zip != nil {
		return s.zip.Write(p)
	}
	return s.ResponseWriter.Write(p)
}

func (s *squeezer) close() {
	if s.zip != nil {
		_ = s.zip.Close() // a browser that is gone is not an error of ours
	}
}

// Unwrap lets http.ResponseController reach the connection.
func (s *squeezer) Unwrap() http.ResponseWriter { return s.ResponseWriter }
