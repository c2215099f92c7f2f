// Package assembly puts the parts of Loci together. It is the only package that names concrete
// ones beside those for settings, models and backups. The library, which other programs see, is the
// root package.
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

// Options are what a program hands to [Open] that no settings file can hold.
type Options struct {
	Embedder memory.Embedder  // nil: the setting embedder names one
	LLM      memory.LLM       // learns; nil: the settings learn.* name one
	Logger   *slog.Logger     // nil: lines to Log, as the settings log.* say
	Log      io.Writer        // nil: none
	Now      func() time.Time // nil: time.Now

	// Reload reads the settings again, for the API's reload; nil: it cannot.
	Reload func() (config.Config, error)
	waited func(time.Duration) // see [sqlstore.Options]
}

// Loci is an open memory. It is safe for concurrent use.
type Loci struct {
	config   config.Config
	engine   *engine.Engine
	index    *index.Index
	chroma   *chroma.Index // nil: there is none
	vectors  string        // what searches vectors outside of the index; "": nothing
	runner   *jobs.Runner
	vault    *vaultsync.Vault
	database *sqlstore.Store // nil: memory is in none
	backups  *backup.Maker
	keys     *httpx.Keyring
	audit    *audit.Log
	chat     *proxy.Handler
	handler  http.Handler
	open     func(config.Config) error    // makes front anew
	front    atomic.Pointer[http.Handler] // the guard and what is before it, by the settings as they are
	asked    config.Config                // as it was opened with, and what was taken over since
	level    slog.LevelVar
	reload   func() (config.Config, error)
	reloads  sync.Mutex   // held while settings are taken over
	keep     atomic.Int64 // audit.keep
	log      *slog.Logger
	doctor   *doctor.Doctor
	learner  *models.Learner
	embeds   models.Choice
	words    config.Config // if words alone embed after all: see [models.Choice.Now]
	draining atomic.Bool
	backlog  func(context.Context) (memory.Counts, error) // counts jobs of all owners
	looks    sync.Mutex                                   // guards what follows: see [Loci.looked]
	lookedAt time.Time
	found    []string
	closers  []func() error // in the order they are to be called
}

// Open opens the memory that config describes, making it where there is none.
func Open(ctx context.Context, config config.Config, opts Options) (*Loci, error) {
	return assemble(ctx, config, opts)
}

// Engine returns what answers and learns.
func (l *Loci) Engine() *engine.Engine { return l.engine }

// Handler returns everything that is served over HTTP.
func (l *Loci) Handler() http.Handler { return l.handler }

// Log returns the log that the settings describe.
func (l *Loci) Log() *slog.Logger { return l.log }

// Config returns the settings in effect.
func (l *Loci) Config() config.Config { return l.config }

// settled returns the settings with the embedder as it is by now.
func (l *Loci) settled() config.Config {
	if is, _ := l.embeds.Now(); is.Embedder != l.embeds.Embedder {
		return l.words
	}
	return l.config
}

// Better says what would make recall better, with the command; "" where nothing is known.
func (l *Loci) Better() string { return l.embeds.Better }

// Learns says who learns.
func (l *Loci) Learns() string { return l.learner.Learns().Who }

// Resident returns how many bytes the index holds in memory, estimated.
func (l *Loci) Resident() int64 { return l.index.Size() }

// Serving writes into the data folder that this memory is served at a URL, until it is
// closed, so that others who come to the folder know whom to ask ([config.Config.ServedAt]). An
// address of all of this machine's is written as loopback. Memory that is not in the data
// folder is not spoken of.
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

// loopback is this machine in the family of an address.
func loopback(ip net.IP) string {
	if ip.To4() != nil {
		return "127.0.0.1"
	}
	return "::1"
}

// Run learns and keeps order until ctx ends; then it lets what is under way come
// to its end. It may be called once.
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

// Settle waits until everything that is due now has been learned. Run must be
// running.
func (l *Loci) Settle(ctx context.Context) error { return l.runner.Drain(ctx) }

// Close releases everything. Run must have returned.
func (l *Loci) Close() error {
	var errs []error
	for _, f := range l.closers {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

func userOf(name string) memory.Owner { return memory.User(memory.DefaultNamespace, name) }
