package web

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

// contentSecurityPolicy lets the page load only its own files, run no inline script or style, send forms only to
// this server, and appear in no frame.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", contentSecurityPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	// With no-referrer, browsers would send forms with "Origin: null", which looks like the origin of another
	// site.
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-store") // memories are private
}

// checkSameOrigin refuses requests that another site's page made a browser send. Browsers send the origin with
// every POST; a POST without an origin is refused too.
func checkSameOrigin(r *http.Request) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	if r.Header.Get("Sec-Fetch-Site") == "same-origin" {
		return nil
	}
	u, err := url.Parse(r.Header.Get("Origin"))
	if r.Header.Get("Sec-Fetch-Site") == "" && err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host) {
		return nil
	}
	return memory.Errorf(memory.Forbidden, "this form was not sent from Loci's page")
}

// localPath returns a redirect's target if it is a path of this server, and "/" otherwise.
func localPath(target string) string {
	u, err := url.Parse(target)
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil || !strings.HasPrefix(u.Path, "/") || strings.HasPrefix(u.Path, "//") || strings.Contains(target, "\\") {
		return "/"
	}
	return target
}

// maxFormMemory is the maximum size in bytes of a form's files in memory; larger files go to disk.
const maxFormMemory = 4 << 20

// readForm reads a posted form and checks that its values are valid text.
func readForm(r *http.Request) error {
	err := r.ParseForm()
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data") { // the form may have a file
		err = r.ParseMultipartForm(maxFormMemory)
	}
	if err != nil {
		if p := httpx.ProblemOf(err); p.Code == memory.TooLarge {
			return p
		}
		return memory.Errorf(memory.Invalid, "cannot read the form: %v", err)
	}
	for _, values := range r.Form {
		for _, v := range values {
			if !utf8.ValidString(v) {
				return memory.Errorf(memory.Invalid, "the form is not valid UTF-8")
			}
		}
	}
	return nil
}
