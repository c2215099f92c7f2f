package assembly

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/api/mem0"
	"github.com/loci-memory/loci/internal/api/proxy"
	"github.com/loci-memory/loci/internal/api/query"
	"github.com/loci-memory/loci/internal/api/rest"
	"github.com/loci-memory/loci/internal/api/web"
	"github.com/loci-memory/loci/internal/audit"
	"github.com/loci-memory/loci/internal/backup"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/doctor"
	"github.com/loci-memory/loci/internal/engine"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/internal/model/llm"
	"github.com/loci-memory/loci/internal/models"
	"github.com/loci-memory/loci/internal/obs"
	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/internal/store/inmem"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	vaultstore "github.com/loci-memory/loci/internal/store/vault"
	"github.com/loci-memory/loci/internal/tracing"
	"github.com/loci-memory/loci/internal/vaultsync"

	wirefmt "github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/memory"
)

// Names in the data folder, and the embedder that needs no model.
const (
	databaseFile    = config.DatabaseFile
	indexFolder     = config.IndexFolder
	lexicalEmbedder = config.Lexical
)

// assemble creates the concrete parts of a memory, such as store, models and engine, and connects them.
func assemble(ctx context.Context, config config.Config, opts Options) (_ *Loci, err error) {
	storeClock := opts.Now // nil means the store's own clock
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Log == nil {
		opts.Log = io.Discard
	}
	l := &Loci{config: config, asConfigured: config, readSettings: opts.Reload}
	defer func() {
		if err != nil {
			_ = l.Close() // the function returns the first error
		}
	}()
	if opts.Logger == nil {
		if opts.Logger, err = obs.NewLogger(opts.Log, config.Log.Format, &l.logLevel); err == nil {
			err = l.logLevel.UnmarshalText([]byte(config.Log.Level))
		}
		if err != nil {
			return nil, err
		}
	}
	l.log = opts.Logger
	if unknown := config.UnknownEnv(); len(unknown) > 0 {
		l.log.Warn("these environment variables are not settings and are ignored; loci settings lists all settings", "variables", unknown)
	}
	l.doctor = &doctor.Doctor{Log: l.log}
	prompts, err := openPrompts(config.Prompts)
	if err != nil {
		return nil, err
	}
	learner := models.ProgramLearner()
	if opts.LLM == nil {
		if learner, err = models.ChooseLearner(ctx, config, l.log); err != nil {
			return nil, err
		}
	}
	config = learner.ApplyTo(config)
	l.learner, l.config = learner, config
	learning := learner.Status()
	l.log.Info("learning model", "model", learning.Description, "why", learning.Why)
	if learning.Problem != "" {
		l.log.Warn(learning.Problem)
	}
	if err := backup.RecoverInterrupted(config); err != nil {
		return nil, err
	}
	asConfigured := config // the settings before the embedder is chosen
	choice := models.EmbedderChoice{Why: "set by the program that uses Loci as a library"}
	if opts.Embedder != nil {
		choice.Embedder = "program:" + opts.Embedder.Fingerprint()
		config = config.WithEmbedder(choice.Embedder)
	} else {
		config, choice = models.ChooseEmbedder(ctx, config)
	}
	l.embedderChoice = choice
	l.log.Info("embedder", "embedder", config.Embedder, "why", choice.Why, "better", choice.Suggestion)
	for _, broken := range choice.OpenErrors {
		l.doctor.Warn(client.Finding{Part: "models", Problem: broken, Fix: "download the model again or remove it; until then Loci does not use it"})()
	}
	l.config = config
	opened, err := models.Open(config, l.embedderChoice)
	if err != nil {
		return nil, err
	}
	if opts.Embedder != nil {
		opened.Embedder = opts.Embedder
	}
	metrics := obs.NewMetrics()
	opts.observeWriteWait = metrics.ObserveWriteWait
	store, err := openStore(ctx, config, opts, storeClock, l.log)
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	l.audit = audit.New(store, opts.Now, l.log)
	if l.backups, err = backup.New(asConfigured, store, opts.Now, l.log, l.audit.NoteRestore); err != nil {
		return nil, errors.Join(err, store.Close(), opened.Close())
	}
	if l.doctor.Schedule, err = backup.NewSchedule(asConfigured, l.backups, l.log); err != nil {
		return nil, errors.Join(err, store.Close(), opened.Close())
	}
	l.database, _ = databaseOf(store).(*sqlstore.Store)
	l.readiness.countJobs = store.Totals
	if config.Store == "sqlite" {
		l.readiness.storeDir, _ = config.DataDir() // no error is possible: opening the store has already resolved the same path
	}
	if s, ok := databaseOf(store).(interface {
		Backlog(context.Context) (memory.Counts, error)
	}); ok {
		l.readiness.countJobs = s.Backlog
	}
	if err := backup.CheckComplete(ctx, store); err != nil {
		return nil, errors.Join(err, store.Close(), opened.Close())
	}
	if s, ok := store.(serverStore); ok && config.Store.IsServer() {
		l.log.Info("memory is stored on a database server", "store", config.Store, "about", s.Description())
	}
	keyStore, _ := databaseOf(store).(memory.Keys)
	if l.keys, err = httpx.OpenKeys(ctx, keyStore, config.Store.IsServer(), opts.Now, l.log); err != nil {
		return nil, errors.Join(fmt.Errorf("read the API keys: %w", err), store.Close(), opened.Close())
	}
	embedder := opened.Embedder
	indexOpts, err := indexOptions(config, embedder, l.log)
	if err != nil {
		return nil, errors.Join(err, store.Close(), opened.Close())
	}
	if s, ok := store.(interface{ Identity() string }); ok && indexOpts.Dir != "" {
		indexOpts.Dir = filepath.Join(indexOpts.Dir, s.Identity()) // the memory of each database has its own index folder
	}
	indexOpts.OnMissingVectors = func(owner memory.Owner, missingCount int) { l.engine.Vectors.QueueMissing(owner, missingCount) }
	searcher := l.openSearcher(store, indexOpts)
	options := engineOptions(config, learner)
	if _, wrong := l.embedderChoice.Current(); wrong != "" {
		l.lexicalConfig = asConfigured.WithEmbedder(lexicalEmbedder)
		options.LexicalScale = &core.RelevanceScale{Measure: recallRules(l.lexicalConfig).Measure, Threshold: l.lexicalConfig.Recall.Threshold}
		l.log.Warn(wrong)
	}
	l.engine = engine.New(core.Parts{
		Store: store, Searcher: searcher, Embedder: embedder, Reranker: opened.Reranker, Prompts: prompts.WithForm(prompt.Form(config.Preset.Reply)),
		Metrics: metrics, Log: l.log, Now: opts.Now,
		WakeJobRunner: func() { l.runner.Wake() },
	}, options)
	l.closers = append([]func() error{func() error { l.engine.Close(); return nil }}, append(l.closers, store.Close, opened.Close)...)
	tracer, err := tracing.Open(ctx, config.OTLP.Endpoint, obs.Version(), l.log)
	if err != nil {
		return nil, err
	}
	l.closers = append(l.closers, tracer.Close)
	if l.engine.LLM = opts.LLM; opts.LLM == nil && config.Learn.Model != "" {
		l.engine.LLM = tracedLearner{learner, tracer}
		l.closers = append(l.closers, learner.Close)
	}
	if err := fillGlobalPool(ctx, l.engine, config.Bootstrap); err != nil {
		return nil, err
	}
	l.runner = jobs.New(store, map[memory.JobKind]jobs.Handler{
		memory.JobLearn: traceLearning(tracer, l.engine.Lessons.Learn), memory.JobRelearn: l.engine.Lessons.HandleRelearn, memory.JobUpkeep: l.engine.Upkeep.HandleUpkeep, memory.JobSummarize: l.engine.Lessons.Summarize,
		memory.JobEmbed: l.engine.Vectors.EmbedMissing, memory.JobShare: l.engine.Share.PropagateShares, memory.JobErase: l.engine.Erase.ResumeErasure,
	}, jobs.Options{Lease: jobLease(config), Now: opts.Now, Log: l.log, Metrics: metrics})
	if s, ok := store.(serverStore); ok && config.Store.IsServer() {
		s.OnErase(l.engine.Traces.ForgetErased)
		l.closers = append([]func() error{listenForJobs(ctx, s, l.runner)}, l.closers...)
	}
	if err := l.queueMissingVectors(ctx); err != nil {
		return nil, err
	}
	l.vault = vaultsync.New(store, l.engine, config, l.log)
	d := l.doctor
	d.Config, d.Engine, d.Index, d.Chroma, d.Vault, d.Database, d.Backups, d.Learner, d.EmbedderChoice = l.config, l.engine, l.index, l.chroma, l.vault, l.database, l.backups, l.learner, l.embedderChoice
	if err := l.vault.CatchUp(ctx); err != nil {
		return nil, err
	}
	upstream, err := newUpstream(config, learner)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	l.proxyHandler = proxy.New(l.engine, proxy.Options{
		Upstream: upstream, ChatOnly: config.Upstream.API == "chat", Placement: wirefmt.Placement(config.Recall.Placement), KeepBlocks: config.Recall.Blocks == "keep", AddMemories: config.Preset.Named, SessionHeaders: config.Record.Sessions,
		ProjectHeaders: config.Record.Projects, ProjectFromFolder: config.Record.Folder,
		Metrics: metrics, Tracer: tracer, Log: l.log, Now: opts.Now, OnAnonymous: l.doctor.Warn(doctor.ChatWithoutUser), OnUserIgnored: l.doctor.Warn(doctor.UserIgnored), UseClientKeys: config.UsesClientKeys(),
	})
	l.registerMetricSources(metrics, opts)
	mux.Handle("GET /metrics", httpx.AdminOnly(metrics.Handler()))
	mux.Handle(mcpPath, mcpHandler(l.engine))
	mux.Handle("POST /query", query.New(l.engine, query.Options{Upstream: upstream, Model: func(ctx context.Context) string { return learner.ChatModel(ctx, config) }, MaxText: config.Limits.Text}))
	guard := httpx.Options{
		Key: config.APIKey, FrontKey: config.FrontKey, Keys: l.keys, MultiUser: config.Users == "multi", JWTSecret: []byte(config.JWTSecret),
		UserHeader: config.UsersHeader, MaxBody: config.Limits.Body, StreamedPaths: []string{rest.ImportPath},
		SSO:      ssoOptions(config.SSO),
		Budget:   httpx.NewBudget(httpx.BodyBudget()),
		OnAnswer: requestObserver(metrics, l.log),
		Log:      l.log, Now: opts.Now, OnUnverifiedToken: l.doctor.Warn(doctor.UnverifiedToken), OnWrongKey: l.audit.NoteRefused,
		ReadOnlyPosts: append(slices.Clone(rest.ReadOnlyPosts), "/signin", "/signout", "/switch"), ScopeCheckingPrefixes: []string{"/v1/", "/v2/", "/v3/", mem0.Prefix + "/", mcpPath},
	}.WithDefaults()
	pageOpts := l.pageOptions(config, learner, upstream)
	pageOpts.Auth, pageOpts.RecordAudit, pageOpts.Issuer = &guard, l.audit.Note, openIDIssuer(config.SSO, guard.SSO)
	pageOpts.Sessions = databaseOf(store).(memory.Sessions) // every store implements memory.Sessions
	page := web.New(l.engine, pageOpts)
	mux.Handle("/v1/", l.proxyHandler)
	for _, path := range proxy.ShortPaths() {
		mux.Handle(path, l.proxyHandler)
	}
	mem0API := mem0.New(l.engine, mem0.Options{MaxTextBytes: config.Limits.Text})
	for _, path := range append(proxy.ReservedPaths(), mem0.Prefix) {
		mux.Handle(path, mem0API)
		mux.Handle(path+"/", mem0API)
	}
	mux.Handle("/", page.WithFallback(rest.New(l.engine, rest.Options{
		Version: obs.Version(), MaxBody: config.Limits.Body, Health: l.visibleHealth, Ready: l.readyStatus, Doctor: l.doctor.Examine, Backup: l.backups.Create, Keys: l.keys, RecordAudit: l.audit.Note, Reload: l.reloadFromAPI, Settings: pageOpts.Settings,
		RemainingCopies: func(since, until time.Time) []string {
			held := l.backups.UnerasableCopies(since, until)
			if l.database != nil {
				held = append(held, l.database.ErasedTextLocations()...)
			}
			if l.chroma != nil {
				held = append(held, l.chroma.MayHold()...)
			}
			return held
		},
		ExternalOperations: externalOperations(), Upstream: upstream, Model: func(ctx context.Context) string { return learner.ChatModel(ctx, config) },
	})))
	guard.Refuse, guard.PublicPaths = errorWriter(page), slices.Concat(httpx.DefaultPublicPaths, page.PublicPaths())
	l.updateGuard = l.guardUpdater(guard, page, l.audit.Handler(mux))
	if err := l.updateGuard(config); err != nil {
		return nil, err
	}
	l.auditRetentionDays.Store(int64(config.Audit.Keep))
	l.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*l.guardedHandler.Load()).ServeHTTP(w, r) })
	return l, nil
}

// OpenAPI returns the OpenAPI description that a server of this version serves at /openapi.json.
func OpenAPI() ([]byte, error) {
	return rest.OpenAPIDocument(rest.Options{Version: obs.Version(), ExternalOperations: externalOperations()})
}

// externalOperations returns the operations that the REST API describes but that other handlers serve.
func externalOperations() []rest.ExternalOperation {
	in, out := query.BodyTypes()
	return []rest.ExternalOperation{{
		Method: http.MethodPost, Path: "/query", ID: "query", Summary: "Answer a question of a session with the user's memory",
		Request: in, Response: out, Prefix: "Query",
	}}
}

// replicaLease is the time, by the database's clock, after which another replica takes over a job of a
// killed replica. A worker renews its lease three times in this time.
const replicaLease = 8 * time.Second

// jobLease returns the duration of a job's lease. For SQLite the lease can be long, because the only
// process of the database ends all leases at its start.
func jobLease(c config.Config) time.Duration {
	if c.Store.IsServer() {
		return replicaLease
	}
	return jobs.DefaultLease
}

func openPrompts(dir string) (*prompt.Set, error) {
	if dir == "" {
		return prompt.Default(), nil
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, memory.Errorf(memory.Invalid, "prompts: %q is not a folder", dir)
	}
	return prompt.Open(os.DirFS(dir))
}

func openStore(ctx context.Context, config config.Config, opts Options, storeClock func() time.Time, log *slog.Logger) (memory.Store, error) {
	if config.Store.IsServer() {
		store, err := config.Store.Open(ctx, sqlstore.Options{Now: storeClock, Log: log, ObserveWait: opts.observeWriteWait, TraceBytes: maxTraceBytes})
		if err != nil {
			return nil, fmt.Errorf("store: %w", err)
		}
		return store, nil
	}
	openInner := func(now func() time.Time) (memory.Store, error) {
		return openDatabase(ctx, config, now, log, opts.observeWriteWait)
	}
	if config.Vault == "" {
		return openInner(opts.Now)
	}
	return vaultsync.Open(ctx, config, opts.Now, opts.Logger, openInner)
}

// databaseDir returns the folder of the database: the data folder or, if the store is memory with a
// vault, a folder in the vault.
func databaseDir(c config.Config) (string, error) {
	if c.Store != "memory" {
		return c.DataDir()
	}
	dir, err := c.VaultDir()
	return filepath.Join(dir, vaultstore.OwnFolder), err
}

func openDatabase(ctx context.Context, c config.Config, now func() time.Time, log *slog.Logger, observeWriteWait func(time.Duration)) (memory.Store, error) {
	if c.Store == "memory" && c.Vault == "" {
		return inmem.Open(inmem.Options{Now: now}), nil
	}
	dir, err := databaseDir(c)
	if err != nil {
		return nil, err
	}
	store, err := sqlstore.OpenSQLite(ctx, filepath.Join(dir, databaseFile), sqlstore.Options{
		Now: now, Log: log, ObserveWait: observeWriteWait, AllowEmpty: c.Vault != "", TraceBytes: maxTraceBytes,
	})
	if err != nil {
		return nil, config.ExplainDataError(dir, fmt.Errorf("open the memory in %s: %w", dir, err))
	}
	if err := store.EndLeases(ctx); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

// serverStore is a store on a database server, which other processes can share.
type serverStore interface {
	Description() string                     // description for the log
	Listen(ctx context.Context, wake func()) // calls wake when another process has queued a job, until ctx ends
	OnErase(notify func(memory.Owner))       // calls notify with each owner after another process has erased data of the owner
}

// listenForJobs wakes the runner when another server has queued a job, until the caller calls stop.
func listenForJobs(ctx context.Context, store serverStore, runner *jobs.Runner) (stop func() error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		store.Listen(ctx, runner.Wake)
	}()
	return func() error { cancel(); <-ended; return nil }
}

// indexOptions returns the options of the index. The folder for checkpoints is in the data folder.
func indexOptions(config config.Config, embedder memory.Embedder, log *slog.Logger) (index.Options, error) {
	o := index.Options{
		Model: embedder.Fingerprint(), Embedder: embedder, Budget: int64(config.Index.Budget),
		Report: func(err error) {
			log.Warn("could not write a checkpoint of an index; searches are not affected", "err", err)
		},
	}
	if config.Store == "memory" {
		return o, nil
	}
	dir, err := config.DataDir()
	o.Dir = filepath.Join(dir, indexFolder)
	return o, err
}

// maxTraceBytes is the maximum total size of a user's traces in bytes; the store deletes the oldest traces first.
const maxTraceBytes = 1 << 20

func engineOptions(c config.Config, learner *models.Learner) core.Options {
	return core.Options{
		TopK: c.Recall.TopK, BlockTokens: c.Recall.Budget, ScoreThreshold: c.Recall.Threshold, EmbedderSetByProfile: c.UsesProfileEmbedder(),
		RecencyWeight: c.Recall.RecencyWeight, Deadline: c.RecallDeadline(), SlowModelDeadline: c.Recall.DeadlineMax, Recall: recallRules(c),
		LearnAfter: core.LearnTrigger(c.Learn.After), LearnModel: learner.WantedModel(), UseClientKeys: c.UsesClientKeys(), IntentMethod: c.Query.Intents,
		LearnByRules: c.Learn.Rules == "on", LearnFromAssistant: c.Learn.Assistant, MaxTextBytes: c.Limits.Text, History: core.HistoryPolicy(c.Record.History),
		Acceptance: core.Acceptance(c.Share.Accept), Channels: core.ChannelAccess(c.Memory.Channels), Learn: learnOptions(c), LogContent: c.Log.Content,
	}
}

// learnOptions returns the options of learning.
func learnOptions(c config.Config) core.LearningOptions {
	l := core.LearningOptions{
		Scope: core.FactScope(c.Learn.Scope), MessagesPerLesson: c.Learn.Every, FirstExchange: c.Preset.Exchanges, IdleTime: c.Learn.Idle, ContextMessages: c.Preset.Context, RedactPersonal: c.Learn.RedactPersonal, Trust: c.Learn.Trust,
		Spending: core.LearningBudget{
			InputPrice: c.Learn.InputPrice, OutputPrice: c.Learn.OutputPrice,
			DailyTokenLimit: c.Learn.DayTokens,
		},
		Review: core.ReviewRules{MinConfidence: c.Review.Confidence, Categories: c.Review.Categories, Conflicts: c.Review.Conflicts},
		Upkeep: core.UpkeepOptions{UserLimit: c.Upkeep.User, ConversationLimit: c.Upkeep.Conversation, HalfLife: c.Upkeep.HalfLife},
	}
	if c.Learn.Model == "" { // the rules learn immediately
		l.MessagesPerLesson, l.FirstExchange = 1, 1
	}
	if c.Summary.Mode == "on" || c.Summary.Mode == "model" && c.Learn.Model != "" {
		l.Summary = core.SummaryOptions{EveryExchanges: c.Summary.Every, RetainEarlier: c.Preset.KeepSummaries}
	}
	return l
}

// recallRules returns the rules of recall that the settings and the profile describe.
func recallRules(c config.Config) core.RecallRules {
	r, p := c.Recall, c.Preset
	heading := p.Heading
	if heading == "" && wirefmt.Placement(r.Placement) == wirefmt.System { // without a heading, memory would look like instructions
		heading = "Relevant memory"
	}
	measure := recall.RelevanceMeasure(r.Score)
	if r.Score == "fitted" {
		measure = recall.Fitted
	}
	return core.RecallRules{
		Measure: measure, EmbedAs: memory.EmbedAs(p.EmbedAs), CoreTokens: r.Core, CoreExcludes: r.CoreWithout, ContextTokens: r.Contexts, Pools: r.Pools, DecayTime: r.Decay,
		BlockHeading: heading, BlockHint: p.Hint, ShowRoles: p.Roles, OnlyStatements: p.Turns == "told", NoTurns: p.Turns == "none", RecallQuestions: p.Questions, AddSummary: p.Summary,
		SmallSetSize: p.SmallSet, Reach: core.Reach(p.Reach), BootstrapBelowFacts: p.Bootstrap, Fallback: core.Fallback(p.Fallback),
		AgeFromStatement: p.SinceSaid, Lambda: p.Lambda, CandidatesPerHit: p.Candidates, ExpandQuestions: p.Expand, QuestionMessages: p.Messages, ModelReadsChat: c.Upstream.URL != "",
	}
}

// fillGlobalPool fills the global pool with the facts in the file at path. An empty path changes nothing.
func fillGlobalPool(ctx context.Context, e *engine.Engine, path string) error {
	if path == "" {
		return nil
	}
	file, err := os.ReadFile(path)
	if err != nil {
		return memory.Errorf(memory.Invalid, "bootstrap: %w", err)
	}
	if _, err := e.Transfer.Bootstrap(ctx, memory.DefaultNamespace, file); err != nil {
		return fmt.Errorf("bootstrap: %s: %w", path, err)
	}
	return nil
}

// newUpstream returns the upstream, or a nil interface without an upstream.
func newUpstream(c config.Config, learner *models.Learner) (proxy.Upstream, error) {
	if c.Upstream.URL == "" {
		return nil, nil
	}
	f, err := llm.NewForwarder(llm.Options{BaseURL: c.Upstream.URL, Key: c.Upstream.Key, DropHeaders: c.Forward.Drop})
	if err != nil {
		return nil, err
	}
	return pausingUpstream{f, learner}, nil
}

// pausingUpstream is an upstream that, while it answers a chat, pauses learning by a model on this machine.
type pausingUpstream struct {
	proxy.Upstream
	learner *models.Learner
}

// Do forwards a request. Learning resumes when the answer has been read completely or closed.
func (a pausingUpstream) Do(ctx context.Context, method, path string, header http.Header, body io.Reader) (*http.Response, error) {
	if method != http.MethodPost {
		return a.Upstream.Do(ctx, method, path, header, body)
	}
	resumeLearning := sync.OnceFunc(a.learner.ChatBegins())
	resp, err := a.Upstream.Do(ctx, method, path, header, body)
	if err != nil {
		resumeLearning()
		return nil, err
	}
	resp.Body = pausingBody{resp.Body, resumeLearning}
	return resp, nil
}

type pausingBody struct {
	io.ReadCloser
	resumeLearning func()
}

// Read implements io.Reader.
func (a pausingBody) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if err != nil {
		a.resumeLearning()
	}
	return n, err
}

// Close implements io.Closer.
func (a pausingBody) Close() error {
	a.resumeLearning()
	return a.ReadCloser.Close()
}

// databaseOf returns the database behind a vault, or the store itself.
func databaseOf(store memory.Store) memory.Store {
	if files, ok := store.(*vaultstore.Store); ok {
		return files.Store
	}
	return store
}

// queueMissingVectors queues the jobs that compute missing vectors of the default user and of the global
// pool. For any other user the first search queues the job.
func (l *Loci) queueMissingVectors(ctx context.Context) error {
	if l.config.Embedder == config.Lexical || l.config.Users == "multi" {
		return nil // no vectors, or no default user
	}
	return l.engine.Vectors.QueueForOwners(ctx, userNamed(httpx.DefaultUser), memory.Global(memory.DefaultNamespace))
}
