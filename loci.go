// Package loci is long-term memory for LLM applications: the engine behind the
// loci command, for use inside another program.
//
//	l, err := loci.Open(ctx, config, loci.Options{})
//	go l.Run(ctx)                  // learns in the background
//	http.Serve(ln, l.Handler())    // the OpenAI-compatible proxy, REST, metrics
//	l.Remember(ctx, "ana", "User is allergic to peanuts")
//	hits, err := l.Recall(ctx, "ana", "what must she not eat?")
//
// Everything that Loci keeps, it keeps for an owner: a user of the default
// namespace here, named by a string of the caller's own.
package loci

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/loci-memory/loci/internal/backup"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/engine"
	"github.com/loci-memory/loci/internal/filelock"
	"github.com/loci-memory/loci/internal/front/proxy"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/internal/models"
	"github.com/loci-memory/loci/internal/obs"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/memory"
)

// Config is everything that can be set. [LoadConfig] reads it from flags, environment, file,
// profile and defaults.
type Config = config.Config

// Sources are the places that settings come from.
type Sources = config.Sources

// LoadConfig reads the settings. A key that does not exist or a value that cannot be is
// [memory.Invalid].
func LoadConfig(s Sources) (Config, error) { return config.Load(s) }

// Version returns what this build is: the release and, where it is known, the commit.
func Version() string { return obs.Version() }

// Options are what a program hands to [Open] that no settings file can hold.
type Options struct {
	Log io.Writer        // of log lines; nil: none
	Now func() time.Time // nil: time.Now
}

// Loci is an open memory. It is safe for concurrent use.
type Loci struct {
	config   config.Config
	engine   *engine.Engine
	index    *index.Index
	huge     *engine.Huge // nil: the index alone searches
	runner   *jobs.Runner
	vault    *vault
	database *sqlstore.Store // nil: memory is in none
	backups  *backup.Maker
	keys     *httpx.StoredKeys
	chat     *proxy.Door
	handler  http.Handler
	log      *slog.Logger
	warnings warnings
	learner  models.Learner
	closers  []func() error // in the order they are to be called
}

// Open opens the memory that config describes, making it where there is none.
func Open(ctx context.Context, config config.Config, opts Options) (*Loci, error) {
	return wire(ctx, config, opts)
}

// Handler returns everything that is served over HTTP.
func (l *Loci) Handler() http.Handler { return l.handler }

// Log returns the log that the settings describe.
func (l *Loci) Log() *slog.Logger { return l.log }

// Resident returns how many bytes the index holds in memory, estimated.
func (l *Loci) Resident() int64 { return l.index.Size() }

// Serving writes into the data folder that this memory is served at a URL, until it is
// closed, so that others who come to the folder know whom to ask ([Config.ServedAt]). An
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
	group.Go(func() error { return l.engine.Run(ctx) })
	group.Go(func() error { return l.runner.Run(ctx) })
	group.Go(func() error { return l.vault.run(ctx) })
	group.Go(func() error { return l.keys.Run(ctx) })
	group.Go(func() error { return l.checkInBackground(ctx) })
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

// Message is one message of a conversation.
type Message struct {
	Role    memory.Role
	Content string
	At      time.Time // zero: now
}

// Recall returns what memory has to a user's question, best first.
func (l *Loci) Recall(ctx context.Context, user, question string) ([]memory.Hit, error) {
	found, err := l.engine.Recall(ctx, engine.Question{Scope: memory.Scope{Owner: userOf(user)}, Text: question, Door: "go"})
	return found.Hits, err
}

// Record keeps messages of a conversation, "" for a new one, and learns from them
// in the background. It returns the conversation's id.
func (l *Loci) Record(ctx context.Context, user, conversation string, messages ...Message) (string, error) {
	talk := engine.Talk{Conversation: conversation, Infer: true}
	for _, m := range messages {
		talk.Messages = append(talk.Messages, engine.Said{Role: m.Role, Content: m.Content, At: m.At})
	}
	kept, err := l.engine.Ingest(ctx, userOf(user), talk)
	return kept.Conversation, err
}

// Remember writes a fact down and returns it; an equal one that stands already is
// returned instead.
func (l *Loci) Remember(ctx context.Context, user, content string) (memory.Fact, error) {
	f, _, err := l.engine.Remember(ctx, userOf(user), engine.Note{Content: content}, byProgram)
	return f, err
}

// Forget takes memories out of recall by their ids. The receipt's run undoes it.
func (l *Loci) Forget(ctx context.Context, user string, ids ...string) (memory.Receipt, error) {
	return l.engine.Forget(ctx, userOf(user), ids, "forgotten by a program", byProgram)
}

var byProgram = memory.Author{Kind: memory.ByPerson, Name: "program"}

func userOf(name string) memory.Owner { return memory.User(memory.DefaultNamespace, name) }
