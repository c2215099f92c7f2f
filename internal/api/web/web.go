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
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/memory"
)

// Options are what the page needs beside the engine.
type Options struct {
	Key        string                                  // that [httpx.Guard] asks for; "": none
	Multi      bool                                    // several users: signing in takes a name
	Sessions   memory.Sessions                         // where sign-ins are kept
	Token      func(token string) bool                 // whether a front end's cookie holds a token that it signed for a user; nil: none does
	Recency    float64                                 // weight of recency in a score, 0 to 1
	Documents  int                                     // tokens of attached contexts that a prompt has room for
	Health     func(context.Context) client.Health     // how the server is
	Settings   func() []Setting                        // what is set, in order; called for the page that shows them
	Models     func() []Model                          // which are in use, and why these, called for the page that shows them; nil: not told
	Lacks      []string                                // models that the profile names and that are not at hand, each with what stands in
	ListModels func(context.Context) ([]string, error) // of the server that learns; nil: there is none
	Prompts    map[string]string                       // the files of a user's folder that take the place of built-in prompts, by name
	InUse      *prompt.Set                             // each prompt in the variant for the model that is sent it; nil: the engine's
	Chat       http.Handler                            // of /v1, that the playground talks to as any client does; nil: there is none
	Zone       *time.Location                          // of the days and times shown; nil: the server's
	Others     []string                                // how paths of other APIs begin; none: all that the page has not is theirs
}

// Page serves the page.
type Page struct {
	Options
	engine    *engine.Engine
	mux       func() *http.ServeMux                // of the page's paths, made for the first request that may be for one
	templates func() map[string]*template.Template // parsed for the first page: most starts show none
	files     func() map[string]asset              // packed for the first page, too
	ending    sync.Once                            // registers the next with the server
	done      chan struct{}                        // closed when the server shuts down: streams end then
}

// memoryViews are the views and forms about what is known: facts, what is written down by key,
// and what waits for a person.
type memoryViews struct{ *Page }

// chatViews are the views and forms about what was said: conversations, what is attached to
// them, what answers were given, and the playground.
type chatViews struct{ *Page }

// dataViews are the views and forms about memory as a whole, and about the server.
type dataViews struct {
	*Page
	surveys surveys
}

// New returns the page on an engine.
func New(e *engine.Engine, opts Options) *Page {
	if opts.Zone == nil {
		opts.Zone = time.Local
	}
	if opts.InUse == nil {
		opts.InUse = e.Prompts
	}
	p := &Page{Options: opts, engine: e, done: make(chan struct{})}
	p.templates, p.files, p.mux = sync.OnceValue(p.parse), sync.OnceValue(assets), sync.OnceValue(p.paths)
	return p
}

// paths registers everything that the page answers.
func (p *Page) paths() *http.ServeMux {
	known, chats, data := memoryViews{p}, chatViews{p}, &dataViews{Page: p}
	mux := routes{p, http.NewServeMux()}
	mux.show("GET /{$}", "memories", known.memories)
	mux.act("POST /memories", known.remember)
	mux.act("POST /memories/bulk", known.bulk)
	mux.show("GET /memories/{id}", "life", known.life)
	mux.act("POST /memories/{id}", known.change)
	mux.act("POST /memories/{id}/relations", known.relate)
	mux.act("POST /memories/{id}/share", known.share)
	mux.show("GET /profile", "profile", known.profile)
	mux.act("POST /profile", known.setEntry)
	mux.show("GET /review", "review", known.review)
	mux.act("POST /review", known.judge)
	mux.show("GET /conversations", "conversations", chats.conversations)
	mux.show("GET /conversations/{id}", "transcript", chats.transcript)
	mux.act("POST /conversations/{id}", chats.changeChat)
	mux.show("GET /contexts", "contexts", chats.contexts)
	mux.act("POST /contexts", chats.addContext)
	mux.show("GET /contexts/{id}", "context", chats.context)
	mux.act("POST /contexts/{id}", chats.changeContext)
	mux.show("GET /traces", "traces", chats.traces)
	mux.show("GET /traces/{id}", "trace", chats.trace)
	mux.show("GET /playground", "playground", chats.playground)
	mux.HandleFunc("POST /playground", chats.say)
	mux.show("GET /time", "time", data.time)
	mux.show("GET /insights", "insights", data.insights)
	mux.show("GET /data", "data", data.data)
	mux.HandleFunc("GET /data/export", data.export)
	mux.HandleFunc("POST /data/import", data.bring)
	mux.show("GET /erase", "erase", data.erasing)
	mux.HandleFunc("POST /erase", data.erase)
	mux.show("GET /erased/{run}", "erased", data.erased)
	mux.show("GET /jobs", "jobs", data.jobs)
	mux.act("POST /jobs", data.embed)
	mux.act("POST /jobs/{id}", data.retry)
	mux.show("GET /settings", "settings", data.settings)
	mux.act("POST /settings", data.pause)
	mux.show("GET /settings/prompts/{name}", "prompt", data.prompt)
	mux.show("GET /undo", "undo", data.undoing)
	mux.act("POST /undo", data.undo)
	mux.HandleFunc("GET /signin", p.askKey)
	mux.HandleFunc("POST /signin", p.signIn)
	mux.HandleFunc("POST /signout", p.signOut)
	mux.HandleFunc("GET /events", p.events)
	mux.HandleFunc("GET /assets/{file}", p.asset)
	return mux.ServeMux
}

// Or returns a handler that serves the page's paths and who is lost, and all others by next.
func (p *Page) Or(next http.Handler) http.Handler {
	page, lost := squeezed(p), squeezed(http.HandlerFunc(p.lost))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch p.find(r) {
		case onPage:
			page.ServeHTTP(w, r)
		case nowhere:
			lost.ServeHTTP(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// Owns reports whether a request is for the page, or of somebody who is lost: that is told
// as the page tells things.
func (p *Page) Owns(r *http.Request) bool { return p.find(r) != atOthers }

// target is where a path is served.
type target int

const (
	atOthers target = iota
	onPage
	nowhere // and somebody looks for it in a browser
)

func (p *Page) find(r *http.Request) target {
	if slices.ContainsFunc(p.Others, func(path string) bool { return strings.HasPrefix(r.URL.Path, path) }) {
		return atOthers
	}
	if _, pattern := p.mux().Handler(r); pattern != "" {
		return onPage
	}
	browser := (r.Method == http.MethodGet || r.Method == http.MethodHead) && strings.Contains(r.Header.Get("Accept"), "text/html")
	if len(p.Others) > 0 && browser {
		return nowhere
	}
	return atOthers
}

// ServeHTTP serves the page's paths, with what keeps other sites out.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	headers(w.Header())
	if err := sameOrigin(r); err != nil {
		p.Refuse(w, r, err)
		return
	}
	p.mux().ServeHTTP(w, r)
}

// lost says that there is nothing at a path.
func (p *Page) lost(w http.ResponseWriter, r *http.Request) {
	p.Refuse(w, r, memory.Errorf(memory.NotFound, "There is no page at %s.", r.URL.Path))
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
}

func (p *Page) visitOf(r *http.Request) (visit, error) {
	id := httpx.IdentityOf(r.Context())
	if id.Owner == "" {
		return visit{}, memory.Errorf(memory.Unauthorized, "whose memory? Several users share this server: sign in and name one")
	}
	return visit{owner: id.Owner, author: id.Author(), now: p.engine.Now()}, nil
}

// show registers a view: a template and what it is filled with.
func (p routes) show(pattern, name string, fill func(*http.Request, visit) (any, error)) {
	p.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		v, err := p.visitOf(r)
		if err != nil {
			p.Refuse(w, r, err)
			return
		}
		body, err := fill(r, v)
		if err != nil {
			p.Refuse(w, r, err)
			return
		}
		if to, ok := body.(elsewhere); ok {
			http.Redirect(w, r, string(to), http.StatusSeeOther)
			return
		}
		p.render(w, r, http.StatusOK, name, p.frame(w, r, v, body))
	})
}

// elsewhere is what a view returns that is shown at another path.
type elsewhere string

// act registers something that a form does. It goes back to where the form was and
// says there what was done.
func (p routes) act(pattern string, do func(*http.Request, visit) (done, error)) {
	p.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		v, err := p.visitOf(r)
		if err == nil {
			err = readForm(r)
		}
		if err != nil {
			p.Refuse(w, r, err)
			return
		}
		d, err := do(r, v)
		if err != nil {
			p.Refuse(w, r, err)
			return
		}
		back := d.to
		if back == "" {
			back = local(r.PostFormValue("back"))
		}
		d.keep(w, r)
		http.Redirect(w, r, back, http.StatusSeeOther)
	})
}
