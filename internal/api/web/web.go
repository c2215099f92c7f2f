package web

import (
	"context"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine"
	"github.com/loci-memory/loci/internal/engine/chats"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/internal/recent"
	"github.com/loci-memory/loci/memory"
)

// Options are what the page needs beside the engine.
type Options struct {
	Key       string                                         // that [httpx.Guard] asks for; "": none
	Auth      *httpx.Options                                 // that [httpx.Guard] goes by; nil: Key alone
	Issuer    *Issuer                                        // signs people in; nil: keys do
	Note      func(context.Context, memory.AuditEntry) error // puts an act on record; nil: there is no record
	Multi     bool                                           // several users: signing in takes a name
	Sessions  memory.Sessions                                // where sign-ins are kept
	Token     func(token string) bool                        // whether a front end's cookie holds a token that it signed for a user; nil: none does
	Recency   float64                                        // weight of recency in a score, 0 to 1
	Documents int                                            // tokens of attached contexts that a prompt has room for
	Health    func(context.Context) client.Health            // how the server is
	Settings  func() []Setting                               // what is set, in order; called for the page that shows them
	Models    func() []Model                                 // which are in use, and why these, called for the page that shows them
	Lacks     []string                                       // models that the profile names and that are not at hand, each with what stands in
	Prompts   string                                         // a folder of files that take the place of built-in prompts
	InUse     func() *prompt.Set                             // each prompt in the variant for the model that is sent it; nil: the engine's
	Upstream  Upstream                                       // whose models the playground lists; nil: there is none
	Talker    chats.Talker                                   // lets a model of the upstream answer; nil: Loci's own alone
	Zone      *time.Location                                 // of the days and times shown; nil: the server's
	Others    []string                                       // how paths of other APIs begin; none: all that the page has not is theirs
}

// Page serves the page.
type Page struct {
	Options
	engine    *engine.Engine
	mux       func() *http.ServeMux                // of the page's paths, made for the first request that may be for one
	templates func() map[string]*template.Template // parsed for the first page: most starts show none
	files     func() map[string]asset              // packed for the first page, too
	surveys   recent.Map[memory.Owner, survey]
	ending    sync.Once     // registers the next with the server
	done      chan struct{} // closed when the server shuts down: streams end then
}

// New returns the page on an engine.
func New(e *engine.Engine, opts Options) *Page {
	if opts.Zone == nil {
		opts.Zone = time.Local
	}
	if opts.InUse == nil {
		opts.InUse = func() *prompt.Set { return e.Prompts }
	}
	if opts.Auth == nil {
		auth := httpx.Options{Key: opts.Key}.Complete()
		opts.Auth = &auth
	}
	p := &Page{Options: opts, engine: e, done: make(chan struct{})}
	p.templates, p.files, p.mux = sync.OnceValue(p.parse), sync.OnceValue(assets), sync.OnceValue(p.paths)
	return p
}

// paths registers everything that the page answers.
func (p *Page) paths() *http.ServeMux {
	mux := routes{p, http.NewServeMux()}
	mux.show("GET /{$}", "memories", p.memories)
	mux.act("POST /memories", p.remember)
	mux.act("POST /memories/bulk", p.bulk)
	mux.show("GET /memories/{id}", "life", p.life)
	mux.act("POST /memories/{id}", p.change)
	mux.act("POST /memories/{id}/relations", p.relate)
	mux.act("POST /memories/{id}/share", p.share)
	mux.show("GET /profile", "profile", p.profile)
	mux.act("POST /profile", p.setEntry)
	mux.show("GET /review", "review", p.review)
	mux.act("POST /review", p.judge)
	mux.show("GET /conversations", "conversations", p.conversations)
	mux.show("GET /conversations/{id}", "transcript", p.transcript)
	mux.act("POST /conversations/{id}", p.changeChat)
	mux.show("GET /contexts", "contexts", p.contexts)
	mux.act("POST /contexts", p.addContext)
	mux.show("GET /contexts/{id}", "context", p.context)
	mux.act("POST /contexts/{id}", p.changeContext)
	mux.show("GET /traces", "traces", p.traces)
	mux.show("GET /traces/{id}", "trace", p.trace)
	mux.show("GET /playground", "playground", p.playground)
	mux.form("POST /playground", p.say)
	mux.show("GET /time", "time", p.time)
	mux.show("GET /insights", "insights", p.insights)
	mux.show("GET /data", "data", p.data)
	mux.form("GET /data/export", p.export)
	mux.handle("POST /data/import", p.bring)
	mux.show("GET /erase", "erase", p.erasing)
	mux.form("POST /erase", p.erase)
	mux.show("GET /erased/{run}", "erased", p.erased)
	mux.show("GET /jobs", "jobs", p.jobs)
	mux.act("POST /jobs", p.embed)
	mux.act("POST /jobs/{id}", p.retry)
	mux.show("GET /settings", "settings", p.settings)
	mux.act("POST /settings", p.pause)
	mux.show("GET /settings/prompts/{name}", "prompt", p.prompt)
	mux.show("GET /audit", "audit", p.audit)
	mux.show("GET /undo", "undo", p.undoing)
	mux.act("POST /undo", p.undo)
	mux.HandleFunc("GET /signin", p.askKey)
	mux.HandleFunc("POST /signin", p.signIn)
	mux.HandleFunc("POST /signout", p.signOut)
	mux.HandleFunc("POST /switch", p.switchUser)
	if p.Issuer != nil {
		mux.HandleFunc("GET /signin/sso", p.signInBySSO)
		mux.HandleFunc("GET /signin/callback", p.signedInBySSO)
	}
	mux.handle("GET /events", p.events)
	mux.HandleFunc("GET /assets/{file}", p.asset)
	return mux.ServeMux
}

// Or returns a handler that serves what the page owns, and all else by next.
func (p *Page) Or(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.Owns(r) {
			p.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Owns reports whether a request is for the page, or of somebody who looks for a page in a
// browser where there is none.
func (p *Page) Owns(r *http.Request) bool {
	if slices.ContainsFunc(p.Others, func(path string) bool { return strings.HasPrefix(r.URL.Path, path) }) {
		return false
	}
	if _, pattern := p.mux().Handler(r); pattern != "" {
		return true
	}
	browser := (r.Method == http.MethodGet || r.Method == http.MethodHead) && strings.Contains(r.Header.Get("Accept"), "text/html")
	return len(p.Others) > 0 && browser
}

// ServeHTTP serves the page's paths, with what keeps other sites out.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	headers(w.Header())
	err := sameOrigin(r)
	if _, pattern := p.mux().Handler(r); err == nil && pattern == "" {
		err = memory.Errorf(memory.NotFound, "There is no page at %s.", r.URL.Path)
	}
	if err != nil {
		p.Refuse(w, r, err)
		return
	}
	p.mux().ServeHTTP(w, r)
}

// routes are the page and the paths that it answers.
type routes struct {
	*Page
	*http.ServeMux
}

// visit is one look at the page, or one thing done on it.
type visit struct {
	owner  memory.Owner
	author memory.Author
	now    time.Time
	id     string // in the path: what it is about
}

func (p *Page) visitOf(r *http.Request) (visit, error) {
	id := httpx.IdentityOf(r.Context())
	if id.Owner == "" {
		return visit{}, memory.Errorf(memory.Unauthorized, "whose memory? Several users share this server: sign in and name one")
	}
	return visit{owner: id.Owner, author: id.Author(), now: p.engine.Now()}, nil
}

// handle registers what is done at a path, as somebody who is known. Its error is shown as a page.
func (p routes) handle(pattern string, do func(http.ResponseWriter, *http.Request, visit) error) {
	_, name, _ := strings.Cut(pattern, "/{")
	name = strings.Trim(name, "}$")
	name, _, _ = strings.Cut(name, "}")
	p.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		v, err := p.visitOf(r)
		if err == nil && name != "" {
			v.id, err = httpx.PathValue(r, name)
		}
		if err == nil {
			err = do(w, r, v)
		}
		if err != nil {
			p.Refuse(w, r, err)
		}
	})
}

// show registers a view: a template and what it is filled with.
func (p routes) show(pattern, name string, fill func(*http.Request, visit) (any, error)) {
	p.handle(pattern, func(w http.ResponseWriter, r *http.Request, v visit) error {
		body, err := fill(r, v)
		if err != nil {
			return err
		}
		if to, ok := body.(elsewhere); ok {
			http.Redirect(w, r, string(to), http.StatusSeeOther)
			return nil
		}
		p.render(w, r, http.StatusOK, name, p.frame(w, r, v, body))
		return nil
	})
}

// elsewhere is what a view returns that is shown at another path.
type elsewhere string

// form registers what is done with a form.
func (p routes) form(pattern string, do func(http.ResponseWriter, *http.Request, visit) error) {
	p.handle(pattern, func(w http.ResponseWriter, r *http.Request, v visit) error {
		if err := readForm(r); err != nil {
			return err
		}
		return do(w, r, v)
	})
}

// act registers something that a form does. It goes back to where the form was and
// says there what was done.
func (p routes) act(pattern string, do func(*http.Request, visit) (done, error)) {
	p.form(pattern, func(w http.ResponseWriter, r *http.Request, v visit) error {
		d, err := do(r, v)
		if err != nil {
			return err
		}
		d.keep(w, r)
		to := d.to
		if to == "" {
			to = local(r.PostFormValue("back"))
		}
		http.Redirect(w, r, to, http.StatusSeeOther)
		return nil
	})
}
