package rest

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

//go:embed docs.html
var docsPage string

// operationsOf returns a path's operations by HTTP method.
func operationsOf(item *huma.PathItem) map[string]*huma.Operation {
	out := map[string]*huma.Operation{}
	for _, op := range []*huma.Operation{item.Get, item.Post, item.Patch, item.Put, item.Delete} {
		if op != nil {
			out[op.Method] = op
		}
	}
	return out
}

// docsHandler serves a page that lists the API's operations and loads no external resources.
func docsHandler(api *huma.OpenAPI) http.Handler {
	type entry struct{ Method, Path, Summary string }
	var entries []entry
	for path, item := range api.Paths {
		for method, op := range operationsOf(item) {
			entries = append(entries, entry{method, path, op.Summary})
		}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return strings.Compare(a.Path+" "+a.Method, b.Path+" "+b.Method)
	})
	var page bytes.Buffer
	if err := template.Must(template.New("docs").Parse(docsPage)).Execute(&page, entries); err != nil {
		panic(err) // the template and the API do not depend on input
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
		h.Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write(page.Bytes()) // the client may have disconnected
	})
}
