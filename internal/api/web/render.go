package web

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

//go:embed templates/*.html
var templateFiles embed.FS

// parseTemplates returns the templates by view, each with the layout and the shared parts.
func (p *Page) parseTemplates() map[string]*template.Template {
	shared := template.Must(template.New("layout.html").Funcs(p.templateFuncs()).ParseFS(templateFiles, "templates/layout.html", "templates/parts.html"))
	out := map[string]*template.Template{}
	files, err := templateFiles.ReadDir("templates")
	if err != nil {
		panic(err) // the files are embedded, so reading them cannot fail
	}
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".html")
		if name != "layout" && name != "parts" {
			out[name] = template.Must(template.Must(shared.Clone()).ParseFS(templateFiles, path.Join("templates", f.Name())))
		}
	}
	return out
}

// layoutData is the data of the layout around a view.
type layoutData struct {
	Title    string
	Here     string // path and query to which forms return
	At       string // path of the request
	User     string
	SignedIn bool   // the browser has a session that can be ended
	Bare     bool   // no navigation, because nobody is signed in
	Pending  int    // facts that wait for a decision
	Parked   int    // parked jobs
	Paused   string // kind of the pause; "" if memory is on
	Result   *formResult
	Body     any
}

// titledView is a view with its own title.
type titledView interface{ title() string }

func (p *Page) newLayout(w http.ResponseWriter, r *http.Request, v visit, body any) layoutData {
	f := layoutData{Here: viewURL(r), At: r.URL.Path, User: v.owner.Name(), Result: takeFormResult(w, r), Body: body}
	if u, err := p.engine.User(r.Context(), v.owner); err == nil {
		f.User = cmp.Or(u.Name, f.User)
	}
	if t, ok := body.(titledView); ok {
		f.Title = t.title()
	}
	if _, err := r.Cookie(sessionCookie); err == nil {
		f.SignedIn = true
	}
	// The counts are badges in the navigation, which are omitted if the store fails.
	if counts, err := p.engine.Stats(r.Context(), v.owner); err == nil {
		f.Pending, f.Parked = counts.Pending, counts.JobsParked
	}
	if paused := p.engine.CurrentPause(r.Context(), v.owner); paused != core.PauseNone {
		f.Paused = string(paused)
	}
	return f
}

// viewURL returns the path and query of a view, without the parameter of the item open for editing.
func viewURL(r *http.Request) string {
	q := r.URL.Query()
	q.Del("edit")
	return (&url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: q.Encode()}).String()
}

// render writes a complete page, or an error and no part of the page.
func (p *Page) render(w http.ResponseWriter, r *http.Request, status int, name string, f layoutData) {
	var b bytes.Buffer
	f.Title = cmp.Or(f.Title, capitalize(name))
	if err := p.templates()[name].ExecuteTemplate(&b, "layout.html", f); err != nil {
		httpx.WriteError(w, r, fmt.Errorf("render %s: %w", name, err))
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the browser may have disconnected
}

type errorView struct{ Title, Detail, Back string }

// Refuse responds to a request for the page with an error. It shows the sign-in form to unknown users.
func (p *Page) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	setHeaders(w.Header())
	if r.Method == http.MethodGet && errors.Is(err, memory.Unauthorized) && httpx.ProblemOf(err).Status == http.StatusUnauthorized && r.URL.Path != "/events" {
		http.Redirect(w, r, "/signin?next="+url.QueryEscape(viewURL(r)), http.StatusSeeOther)
		return
	}
	problem := httpx.LogProblem(r.Context(), err)
	f := layoutData{Title: cmp.Or(statusTitles[problem.Status], problem.Title), Bare: true}
	f.Body = errorView{Title: f.Title, Detail: problem.Detail, Back: backURL(r)}
	if v, err := p.visitOf(r); err == nil {
		f.Bare, f.User, f.At = false, v.owner.Name(), r.URL.Path
	}
	p.render(w, r, problem.Status, "error", f)
}

// statusTitles are the titles of error pages.
var statusTitles = map[int]string{
	http.StatusBadRequest:            "That does not work",
	http.StatusUnauthorized:          "Please sign in",
	http.StatusForbidden:             "Not allowed",
	http.StatusNotFound:              "Nothing here",
	http.StatusConflict:              "Memory has changed",
	http.StatusRequestEntityTooLarge: "That is too long",
	http.StatusTooManyRequests:       "Too many wrong keys",
	http.StatusInternalServerError:   "Something went wrong",
	http.StatusServiceUnavailable:    "Loci cannot answer right now",
}

// backURL returns the address to which an error page links.
func backURL(r *http.Request) string {
	if r.Method == http.MethodPost && r.PostForm != nil {
		return localPath(r.PostForm.Get("back"))
	}
	return "/"
}
