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

// Config holds all settings. In a Config made by a program, a zero field means the setting's
// default; [LoadConfig] can also set zero values.
type Config = config.Config

// Sources are the places that [LoadConfig] reads settings from.
type Sources = config.Sources

// LoadConfig reads the settings. An unknown key or an invalid value is [memory.Invalid].
func LoadConfig(s Sources) (Config, error) { return config.Load(s) }

// Options are a program's own parts for [Open], which no setting can hold. The zero value is valid.
type Options = assembly.Options

// Loci is an open memory. It is safe for concurrent use.
type Loci struct{ parts *assembly.Loci }

// Open opens the memory that c describes, and creates it if it does not exist.
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

// Run learns and maintains memory until ctx ends, and then finishes work in progress. Call it once.
func (l *Loci) Run(ctx context.Context) error { return l.parts.Run(ctx) }

// Settle waits until all due learning is done. Run must be running.
func (l *Loci) Settle(ctx context.Context) error { return l.parts.Settle(ctx) }

// Close releases everything. Run must have returned.
func (l *Loci) Close() error { return l.parts.Close() }

// Log returns the log in use.
func (l *Loci) Log() *slog.Logger { return l.parts.Log() }

// Config returns the settings in effect, with the models chosen for auto.
func (l *Loci) Config() Config { return l.parts.Config() }

// Learns returns what learns from messages: a model or the built-in rules.
func (l *Loci) Learns() string { return l.parts.Learns() }

// Better returns advice to improve recall, with the command; "" without any.
func (l *Loci) Better() string { return l.parts.Better() }

// Resident returns the estimated bytes that the index holds in memory.
func (l *Loci) Resident() int64 { return l.parts.Resident() }

// Serving publishes the URL of this memory to other processes that open the data folder.
func (l *Loci) Serving(url string) error { return l.parts.Serving(url) }

// Drain makes /health/ready report that this memory is about to close.
func (l *Loci) Drain() { l.parts.Drain() }

// Reload applies the settings of c that an open memory can change, and reads the prompts again.
// After an error everything is unchanged.
func (l *Loci) Reload(c Config) (client.Reloaded, error) { return l.parts.Reload(c) }

// OpenAPI returns the OpenAPI description served at /openapi.json.
func OpenAPI() ([]byte, error) { return assembly.OpenAPI() }

// Version returns the release and, if recorded, the commit of this build.
func Version() string { return obs.Version() }
