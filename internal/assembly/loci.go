// Package assembly puts the parts of Loci together. Apart from the packages for settings, models and
// backups it is the only one that names concrete implementations. The library for other programs is
// the root package.
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
	Embedder memory.Embedder  // nil: the embedder of the settings
	LLM      memory.LLM       // learning model; nil: the model of the settings
	Logger   *slog.Logger     // nil: writes to Log according to the settings log.*
	Log      io.Writer        // nil: no log
	Now      func() time.Time // nil: time.Now

	// Reload reads the settings again for the API's reload; nil: reloading is not possible.
	Reload func() (config.Config, error)
	waited func(time.Duration) // see [sqlstore.Options]
}

// Loci is an open memory. It is safe for concurrent use.
type Loci struct {
	config   config.Config
	engine   *engine.Engine
	index    *index.Index
	chroma   *chroma.Index // nil: Chroma is not used
	vectors  string        // description of the vector search outside of the index; "": there is none
	runner   *jobs.Runner
	vault    *vaultsync.Vault
	database *sqlstore.Store // nil: the store is no SQL database
	backups  *backup.Maker
	keys     *httpx.Keyring
	audit    *audit.Log
	chat     *proxy.Handler
	handler  http.Handler
	open     func(config.Config) error    // replaces front, with new settings
	front    atomic.Pointer[http.Handler] // CORS, sessions and the guard, with the current settings
	asked    config.Config                // the settings at opening, with all reloaded changes
	level    slog.LevelVar
	reload   func() (config.Config, error)
	reloads  sync.Mutex   // held during a reload
	keep     atomic.Int64 // audit.keep
	log      *slog.Logger
	doctor   *doctor.Doctor
	learner  *models.Learner
	embeds   models.Choice
	words    config.Config // the settings for the lexical embedder: see [models.Choice.Now]
	checks   readiness
	closers  []func() error // in the order of the calls
}

// Open opens the memory that config describes, and creates it if it does not exist.
func Open(ctx context.Context, config config.Config, opts Options) (*Loci, error) {
	return assemble(ctx, config, opts)
}

// Engine returns the engine, which recalls and learns.
func (l *Loci) Engine() *engine.Engine { return l.engine }

// Handler returns the handler of all HTTP requests.
func (l *Loci) Handler() http.Handler { return l.handler }

// Log returns the log that the settings describe.
func (l *Loci) Log() *slog.Logger { return l.log }

// Config returns the settings in effect.
func (l *Loci) Config() config.Config { return l.config }

// settled returns the settings with the embedder that is in use now.
func (l *Loci) settled() config.Config {
	if is, _ := l.embeds.Now(); is.Embedder != l.embeds.Embedder {
		return l.words
	}
	return l.config
}

// Better returns a suggestion that would improve recall, with its command, or "".
func (l *Loci) Better() string { return l.embeds.Better }

// Learns returns the name of the learning model, or says that rules learn.
func (l *Loci) Learns() string { return l.learner.Learns().Who }

// Resident returns the estimated size of the index in main memory, in bytes.
func (l *Loci) Resident() int64 { return l.index.Size() }

// Serving writes the server's URL to the data folder until the memory is closed, so that other
// processes find the server ([config.Config.ServedAt]). An address for all interfaces is written as
// loopback. If the memory is not in the data folder, Serving does nothing.
func (l *Loci) Serving(at string) error {
	lock := l.config.LockFile()
	u, err := url.Parse(at)
	if lock == "" || err != nil {
		return err
	}
	if ip := net.ParseIP(u.Hostname()); ip.IsUnspecified() {
		u.Host = net.JoinHostPort(loopback(ip), u.Port())
	}
	return filelock.Answer(lock, u.String())
}

// loopback returns the loopback address of an address's family.
func loopback(ip net.IP) string {
	if ip.To4() != nil {
		return "127.0.0.1"
	}
	return "::1"
}

// Run does the background work until ctx ends, and then waits for running jobs. It may be called only
// once.
func (l *Loci) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return l.engine.Traces.Run(ctx) })
	group.Go(func() error { return l.runner.Run(ctx) })
	group.Go(func() error { return l.vault.Run(ctx) })
	group.Go(func() error { return l.keys.Run(ctx) })
	group.Go(func() error { return l.audit.Run(ctx, l.keep.Load) })
	group.Go(func() error { return l.doctor.Schedule.Run(ctx) })
	group.Go(func() error { return l.doctor.CheckInBackground(ctx) })
	return group.Wait()
}

// Settle waits until all jobs that are due now are done. Run must be running.
func (l *Loci) Settle(ctx context.Context) error { return l.runner.Drain(ctx) }

// Close releases all resources. Run must have returned.
func (l *Loci) Close() error {
	var errs []error
	for _, f := range l.closers {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

func userOf(name string) memory.Owner { return memory.User(memory.DefaultNamespace, name) }
