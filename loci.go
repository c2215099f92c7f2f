// Package loci is long-term memory for LLM applications: the engine behind the
// loci command, for use inside another program.
//
//	l, err := loci.Open(ctx, loci.Config{}, loci.Options{})
//	go l.Run(ctx)               // learns in the background
//	http.Serve(ln, l.Handler()) // the OpenAI-compatible proxy, REST, MCP, metrics
//	l.Remember(ctx, "ana", "User is allergic to peanuts")
//	hits, err := l.Recall(ctx, "ana", "Is there anything that I am allergic to?")
//
// Memory belongs to a user, named by a string of the caller's choice. The words for what
// is kept are in the package memory.
package loci

//go:generate go test ./internal/config -run PageIsUpToDate -update
//go:generate go test ./internal/assembly -run TestOperationsAreListed -update

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/assembly"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/obs"
)

// Config holds all settings. A field at its zero value means the setting's default, in a Config
// that a program makes itself; [LoadConfig] can also set what is zero.
type Config = config.Config

// Sources are the places that [LoadConfig] reads settings from.
type Sources = config.Sources

// LoadConfig reads the settings. A key that does not exist or a value that cannot be is
// [memory.Invalid].
func LoadConfig(s Sources) (Config, error) { return config.Load(s) }

// Options are what a program hands to [Open] that no setting can hold. The zero value is valid.
type Options = assembly.Options

// Loci is an open memory. It is safe for concurrent use.
type Loci struct{ parts *assembly.Loci }

// Open opens the memory that c describes and creates it where there is none.
func Open(ctx context.Context, c Config, o Options) (*Loci, error) {
	c, err := c.Complete()
	if err != nil {
		return nil, err
	}
	parts, err := assembly.Open(ctx, c, o)
	if err != nil {
		return nil, err
	}
	return &Loci{parts}, nil
}

// Handler serves the OpenAI-compatible proxy, the REST API, MCP, the page and metrics.
func (l *Loci) Handler() http.Handler { return l.parts.Handler() }

// Run learns and keeps memory in order until ctx ends, and then finishes what is under way. Call
// it once.
func (l *Loci) Run(ctx context.Context) error { return l.parts.Run(ctx) }

// Settle waits until everything that is due has been learned. Run must be running.
func (l *Loci) Settle(ctx context.Context) error { return l.parts.Settle(ctx) }

// Close releases everything. Run must have returned.
func (l *Loci) Close() error { return l.parts.Close() }

// Log returns the log in use.
func (l *Loci) Log() *slog.Logger { return l.parts.Log() }

// Config returns the settings in effect: with the models that were chosen where a setting says auto.
func (l *Loci) Config() Config { return l.parts.Config() }

// Learns says who learns from what is said: a model or the built-in rules.
func (l *Loci) Learns() string { return l.parts.Learns() }

// Better says what would make recall better, with the command; "" where nothing is known.
func (l *Loci) Better() string { return l.parts.Better() }

// Resident returns how many bytes the index holds in memory, estimated.
func (l *Loci) Resident() int64 { return l.parts.Resident() }

// Serving tells other processes that come to the data folder at which URL this memory is served.
func (l *Loci) Serving(url string) error { return l.parts.Serving(url) }

// Drain has /health/ready say that this memory is about to be closed.
func (l *Loci) Drain() { l.parts.Drain() }

// Reload takes over from c what a memory that is open can, and reads the prompts again. If anything
// is wrong all stays as it was.
func (l *Loci) Reload(c Config) (client.Reloaded, error) { return l.parts.Reload(c) }

// OpenAPI returns the OpenAPI description that a server of this version answers at /openapi.json.
func OpenAPI() ([]byte, error) { return assembly.OpenAPI() }

// Version returns what this build is: the release and, where it is known, the commit.
func Version() string { return obs.Version() }
