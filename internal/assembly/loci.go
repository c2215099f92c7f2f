// Package assembly connects the parts of Loci. Apart from the packages for settings, models and backups,
// only this package names concrete implementations. The library for other programs is the root package.
package assembly

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/loci-memory/loci/internal/api/proxy"
	"github.com/loci-memory/loci/internal/audit"
	"github.com/loci-memory/loci/internal/backup"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/doctor"
	"github.com/loci-memory/loci/internal/engine"
	"github.com/loci-memory/loci/internal/filelock"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/index/chroma"
	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/internal/models"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/internal/vaultsync"
	"github.com/loci-memory/loci/memory"
)

// Options are options of [Open] that cannot be in a settings file.
type Options struct {
	Embedder memory.Embedder  // nil uses the embedder of the settings
	LLM      memory.LLM       // learning model; nil uses the model of the settings
	Logger   *slog.Logger     // nil uses a logger that writes to Log, by the settings log.*
	Log      io.Writer        // nil discards the log
	Now      func() time.Time // nil uses time.Now

	// Reload reads the settings again for the API's reload; nil means that reloading is not possible.
	Reload           func() (config.Config, error)
	observeWriteWait func(time.Duration) // ObserveWait of [sqlstore.Options]
}

// Loci is an open memory. It is safe for concurrent use.
type Loci struct {
	config             config.Config
	engine             *engine.Engine
	index              *index.Index
	chroma             *chroma.Index // nil without Chroma
	vectorSearch       string        // description of the vector search outside of the index; empty without such a search
	runner             *jobs.Runner
	vault              *vaultsync.Vault
	database           *sqlstore.Store // nil if the store is not an SQL database
	backups            *backup.Maker
	keys               *httpx.Keyring
	audit              *audit.Log
	proxyHandler       *proxy.Handler
	handler            http.Handler
	updateGuard        func(config.Config) error    // replaces guardedHandler by a handler with the passed settings
	guardedHandler     atomic.Pointer[http.Handler] // all handlers behind CORS, sessions and the guard, with the current settings
	asConfigured       config.Config                // the settings as configured, before models are chosen; a reload updates these settings
	logLevel           slog.LevelVar
	readSettings       func() (config.Config, error)
	reloadMutex        sync.Mutex   // held during a reload
	auditRetentionDays atomic.Int64 // setting audit.keep, in days
	log                *slog.Logger
	doctor             *doctor.Doctor
	learner            *models.Learner
	embedderChoice     models.EmbedderChoice
	lexicalConfig      config.Config // the settings in use while the embedder is unavailable, with the lexical embedder; see [models.EmbedderChoice.Current]
	readiness          readiness
	closers            []func() error // called in this order by Close
}

// Open opens the memory that config describes, and creates it if it does not exist.
func Open(ctx context.Context, config config.Config, opts Options) (*Loci, error) {
	return assemble(ctx, config, opts)
}

// Engine returns the engine, which recalls and learns.
func (l *Loci) Engine() *engine.Engine { return l.engine }

// Handler returns the handler of all HTTP requests.
func (l *Loci) Handler() http.Handler { return l.handler }

// Log returns the log in use.
func (l *Loci) Log() *slog.Logger { return l.log }

// Config returns the settings in effect.
func (l *Loci) Config() config.Config { return l.config }

// currentConfig returns the settings with the embedder that is currently in use.
func (l *Loci) currentConfig() config.Config {
	if is, _ := l.embedderChoice.Current(); is.Embedder != l.embedderChoice.Embedder {
		return l.lexicalConfig
	}
	return l.config
}

// ImprovementHint returns advice that would improve recall, with a command, or "".
func (l *Loci) ImprovementHint() string { return l.embedderChoice.Suggestion }

// LearnerName returns the name of the learning model, or of the built-in rules.
func (l *Loci) LearnerName() string { return l.learner.Status().Description }

// IndexBytes returns the estimated size of the index in main memory, in bytes.
func (l *Loci) IndexBytes() int64 { return l.index.Size() }

// PublishURL writes the server's URL to the data folder, where other processes find it with
// [config.Config.RunningServerURL] until the memory is closed. In the URL, an address for all interfaces is
// replaced by the loopback address. If memory is stored outside the data folder, PublishURL does nothing.
func (l *Loci) PublishURL(serverURL string) error {
	lock := l.config.LockFile()
	u, err := url.Parse(serverURL)
	if lock == "" || err != nil {
		return err
	}
	if ip := net.ParseIP(u.Hostname()); ip.IsUnspecified() {
		u.Host = net.JoinHostPort(loopbackAddress(ip), u.Port())
	}
	return filelock.SetURL(lock, u.String())
}

// loopbackAddress returns the loopback address of the same IP version as ip.
func loopbackAddress(ip net.IP) string {
	if ip.To4() != nil {
		return "127.0.0.1"
	}
	return "::1"
}

// Run runs the background work until ctx ends, and then waits for running jobs. Call Run only once.
func (l *Loci) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return l.engine.Traces.Run(ctx) })
	group.Go(func() error { return l.runner.Run(ctx) })
	group.Go(func() error { return l.vault.Run(ctx) })
	group.Go(func() error { return l.keys.Run(ctx) })
	group.Go(func() error { return l.audit.Run(ctx, l.auditRetentionDays.Load) })
	group.Go(func() error { return l.doctor.Schedule.Run(ctx) })
	group.Go(func() error { return l.doctor.CheckInBackground(ctx) })
	return group.Wait()
}

// Settle waits until all currently due jobs are done. Run must be running.
func (l *Loci) Settle(ctx context.Context) error { return l.runner.Drain(ctx) }

// Close releases all resources. Run must have returned.
func (l *Loci) Close() error {
	var errs []error
	for _, f := range l.closers {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

func userNamed(name string) memory.Owner { return memory.User(memory.DefaultNamespace, name) }
