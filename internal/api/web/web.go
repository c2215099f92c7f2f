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

// Options configure the page.
type Options struct {
	Key            string                                         // key that [httpx.Guard] requires; "" requires none
	Auth           *httpx.Options                                 // options of [httpx.Guard]; nil checks only Key
	Issuer         *Issuer                                        // single sign-on; nil accepts only keys
	RecordAudit    func(context.Context, memory.AuditEntry) error // writes to the audit record; nil records nothing
	MultiUser      bool                                           // the server has several users, so the sign-in form asks for a name
	Sessions       memory.Sessions                                // stores sessions
	ValidToken     func(token string) bool                        // reports whether a front end signed this token; nil accepts no tokens
	RecencyWeight  float64                                        // weight of recency in a score, 0 to 1
	DocumentTokens int                                            // maximum tokens of attached contexts in a prompt
	Health         func(context.Context) client.Health            // state of the server
	Settings       func() []Setting                               // settings in display order, read each time the page shows them
	Models         func() []Model                                 // models in use, read each time the page shows them
	MissingModels  []string                                       // messages about unavailable models of the profile and their replacements
	PromptDir      string                                         // folder with files that replace built-in prompts
	ActivePrompts  func() *prompt.Set                             // prompts in the variants for the models in use; nil uses the engine's
	Upstream       Upstream                                       // upstream whose models the playground lists; nil lists only Loci's own
	ChatModel      chats.ChatModel                                // answers chats with the upstream's models; nil uses only Loci's own model
	Zone           *time.Location                                 // time zone of displayed times; nil uses the server's
	OtherAPIPaths  []string                                       // path prefixes of other APIs; if empty, other APIs get all unknown paths
}

// Page serves the web page.
type Page struct {
	Options
	engine       *engine.Engine
	mux          func() *http.ServeMux                // routes of the page, built at the first request
	templates    func() map[string]*template.Template // templates by view, parsed when the first page is shown
	assets       func() map[string]asset              // assets by file name, read when the first page is shown
	countsCache  recent.Map[memory.Owner, journalCounts]
	shutdownHook sync.Once     // registers the server's shutdown hook, which closes shutdown
	shutdown     chan struct{} // closed at shutdown, to end streams
}

// New returns the page for an engine.
func New(e *engine.Engine, opts Options) *Page {
	if opts.Zone == nil {
		opts.Zone = time.Local
	}
	if opts.ActivePrompts == nil {
		opts.ActivePrompts = func() *prompt.Set { return e.Prompts }
	}
	if opts.Auth == nil {
		auth := httpx.Options{Key: opts.Key}.WithDefaults()
		opts.Auth = &auth
	}
	p := &Page{Options: opts, engine: e, shutdown: make(chan struct{})}
	p.templates, p.assets, p.mux = sync.OnceValue(p.parseTemplates), sync.OnceValue(loadAssets), sync.OnceValue(p.newMux)
	return p
}

func (p *Page) newMux() *http.ServeMux {
	mux := routes{p, http.NewServeMux()}
	mux.handleView("GET /{$}", "memories", p.memoriesView)
	mux.handleAction("POST /memories", p.rememberFact)
	mux.handleAction("POST /memories/bulk", p.bulkAction)
	mux.handleView("GET /memories/{id}", "life", p.factHistory)
	mux.handleAction("POST /memories/{id}", p.changeMemory)
	mux.handleAction("POST /memories/{id}/relations", p.changeRelation)
	mux.handleAction("POST /memories/{id}/share", p.changeSharing)
	mux.handleView("GET /profile", "profile", p.profileView)
	mux.handleAction("POST /profile", p.changeEntry)
	mux.handleView("GET /review", "review", p.reviewView)
	mux.handleAction("POST /review", p.judgeFacts)
	mux.handleView("GET /conversations", "conversations", p.conversationsView)
	mux.handleView("GET /conversations/{id}", "transcript", p.transcriptView)
	mux.handleAction("POST /conversations/{id}", p.changeChat)
	mux.handleView("GET /contexts", "contexts", p.contextsView)
	mux.handleAction("POST /contexts", p.addContext)
	mux.handleView("GET /contexts/{id}", "context", p.contextView)
	mux.handleAction("POST /contexts/{id}", p.changeContext)
	mux.handleView("GET /traces", "traces", p.tracesView)
	mux.handleView("GET /traces/{id}", "trace", p.traceView)
	mux.handleView("GET /playground", "playground", p.playgroundView)
	mux.handleForm("POST /playground", p.sendMessage)
	mux.handleView("GET /time", "time", p.timelineView)
	mux.handleView("GET /insights", "insights", p.insightsView)
	mux.handleView("GET /data", "data", p.dataView)
	mux.handleForm("GET /data/export", p.exportFile)
	mux.handle("POST /data/import", p.importFile)
	mux.handleView("GET /erase", "erase", p.erasePreview)
	mux.handleForm("POST /erase", p.eraseMemories)
	mux.handleView("GET /erased/{run}", "erased", p.erasureReceipt)
	mux.handleView("GET /jobs", "jobs", p.jobsView)
	mux.handleAction("POST /jobs", p.queueEmbedding)
	mux.handleAction("POST /jobs/{id}", p.retryJob)
	mux.handleView("GET /settings", "settings", p.settingsView)
	mux.handleAction("POST /settings", p.setPause)
	mux.handleView("GET /settings/prompts/{name}", "prompt", p.promptView)
	mux.handleView("GET /audit", "audit", p.auditView)
	mux.handleView("GET /undo", "undo", p.undoPreview)
	mux.handleAction("POST /undo", p.undoChanges)
	mux.HandleFunc("GET /signin", p.showSignIn)
	mux.HandleFunc("POST /signin", p.signIn)
	mux.HandleFunc("POST /signout", p.signOut)
	mux.HandleFunc("POST /switch", p.switchUser)
	if p.Issuer != nil {
		mux.HandleFunc("GET /signin/sso", p.startSSO)
		mux.HandleFunc("GET /signin/callback", p.finishSSO)
	}
	mux.handle("GET /events", p.streamEvents)
	mux.HandleFunc("GET /assets/{file}", p.serveAsset)
	return mux.ServeMux
}

// WithFallback returns a handler that serves the page's requests and passes all other requests to next.
func (p *Page) WithFallback(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.Owns(r) {
			p.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Owns reports whether the page answers a request: one for its paths, or a browser's request for an unknown path.
func (p *Page) Owns(r *http.Request) bool {
	if slices.ContainsFunc(p.OtherAPIPaths, func(path string) bool { return strings.HasPrefix(r.URL.Path, path) }) {
		return false
	}
	if _, pattern := p.mux().Handler(r); pattern != "" {
		return true
	}
	browser := (r.Method == http.MethodGet || r.Method == http.MethodHead) && strings.Contains(r.Header.Get("Accept"), "text/html")
	return len(p.OtherAPIPaths) > 0 && browser
}

// ServeHTTP serves the page's paths and refuses forms that another site made the browser send.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header())
	err := checkSameOrigin(r)
	if _, pattern := p.mux().Handler(r); err == nil && pattern == "" {
		err = memory.Errorf(memory.NotFound, "There is no page at %s.", r.URL.Path)
	}
	if err != nil {
		p.Refuse(w, r, err)
		return
	}
	p.mux().ServeHTTP(w, r)
}

// routes registers the page's handlers by path.
type routes struct {
	*Page
	*http.ServeMux
}

// visit is the caller, the time and the path's id of a request to the page.
type visit struct {
	owner  memory.Owner
	author memory.Author
	now    time.Time
	id     string // id in the path, of the item shown or changed
}

func (p *Page) visitOf(r *http.Request) (visit, error) {
	id := httpx.IdentityOf(r.Context())
	if id.Owner == "" {
		return visit{}, memory.Errorf(memory.Unauthorized, "missing user: several users share this server, so sign in and name one")
	}
	return visit{owner: id.Owner, author: id.Author(), now: p.engine.Now()}, nil
}

// handle registers a handler for identified users, and shows the handler's error as a page.
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

// handleView registers a view: a template and the function that returns the template's data.
func (p routes) handleView(pattern, templateName string, load func(*http.Request, visit) (any, error)) {
	p.handle(pattern, func(w http.ResponseWriter, r *http.Request, v visit) error {
		body, err := load(r, v)
		if err != nil {
			return err
		}
		if to, ok := body.(redirectTarget); ok {
			http.Redirect(w, r, string(to), http.StatusSeeOther)
			return nil
		}
		p.render(w, r, http.StatusOK, templateName, p.newLayout(w, r, v, body))
		return nil
	})
}

// redirectTarget is the result of a view that redirects the browser to another path.
type redirectTarget string

func (p routes) handleForm(pattern string, do func(http.ResponseWriter, *http.Request, visit) error) {
	p.handle(pattern, func(w http.ResponseWriter, r *http.Request, v visit) error {
		if err := readForm(r); err != nil {
			return err
		}
		return do(w, r, v)
	})
}

// handleAction registers the action of a form. The browser then returns to the form's page, which shows the result.
func (p routes) handleAction(pattern string, do func(*http.Request, visit) (formResult, error)) {
	p.handleForm(pattern, func(w http.ResponseWriter, r *http.Request, v visit) error {
		d, err := do(r, v)
		if err != nil {
			return err
		}
		d.setCookie(w, r)
		to := d.to
		if to == "" {
			to = localPath(r.PostFormValue("back"))
		}
		http.Redirect(w, r, to, http.StatusSeeOther)
		return nil
	})
}
