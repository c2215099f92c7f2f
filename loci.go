// Package loci is long-term memory for LLM applications: the engine behind the
// loci command, for use inside another program.
//
//	l, err := loci.Open(ctx, loci.Config{}, loci.Options{})
//	go l.Run(ctx)               // learns in the background
//	http.Serve(ln, l.Handler()) // the OpenAI-compatible proxy, REST, MCP, metrics
//	l.Remember(ctx, "ana", "User is allergic to peanuts")
//	hits, err := l.Recall(ctx, "ana", "Is there anything that I am allergic to?")
//
// Memory belongs to a user; the caller chooses the user's name. Package memory defines the types of
// memories.
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

// Config holds all settings. In a Config that a program creates, a zero field means the setting's
// default; to set zero values, use [LoadConfig].
type Config = config.Config

// Sources are the places from which [LoadConfig] reads settings.
type Sources = config.Sources

// LoadConfig reads the settings. For an unknown key or an invalid value it returns [memory.Invalid].
func LoadConfig(s Sources) (Config, error) { return config.Load(s) }

// Options are parts that a program passes to [Open] and that a settings file cannot describe, such as a
// model or a clock. The zero value is valid.
type Options = assembly.Options

// Loci is an open memory. It is safe for concurrent use.
type Loci struct{ parts *assembly.Loci }

// Open opens the memory that c describes, and creates it if it does not exist.
func Open(ctx context.Context, c Config, o Options) (*Loci, error) {
	c, err := c.WithDefaults()
	if err != nil {
		return nil, err
	}
	parts, err := assembly.Open(ctx, c, o)
	if err != nil {
		return nil, err
	}
	return &Loci{parts}, nil
}

// Handler returns a handler for the OpenAI-compatible proxy, REST API, MCP, web page and metrics.
func (l *Loci) Handler() http.Handler { return l.parts.Handler() }

// Run learns and maintains memory until ctx ends, and then finishes work in progress. Call it only
// once.
func (l *Loci) Run(ctx context.Context) error { return l.parts.Run(ctx) }

// Settle waits until all currently due jobs, such as learning, are done. Run must be running.
func (l *Loci) Settle(ctx context.Context) error { return l.parts.Settle(ctx) }

// Close releases all resources. Run must have returned.
func (l *Loci) Close() error { return l.parts.Close() }

// Log returns the log in use.
func (l *Loci) Log() *slog.Logger { return l.parts.Log() }

// Config returns the current settings, with the chosen models instead of "auto".
func (l *Loci) Config() Config { return l.parts.Config() }

// LearnerName returns the name of the model that learns from messages, or of the built-in rules.
func (l *Loci) LearnerName() string { return l.parts.LearnerName() }

// ImprovementHint returns advice on how to improve search results, with a command, or "".
func (l *Loci) ImprovementHint() string { return l.parts.ImprovementHint() }

// IndexBytes returns the estimated size of the index in main memory, in bytes.
func (l *Loci) IndexBytes() int64 { return l.parts.IndexBytes() }

// PublishURL makes the server's URL known to other processes that open the same data folder.
func (l *Loci) PublishURL(url string) error { return l.parts.PublishURL(url) }

// Drain makes /health/ready report that this server will stop, so that clients use other servers.
func (l *Loci) Drain() { l.parts.Drain() }

// Reload applies the settings of c that can change while the memory is open, and reads the prompts
// again. After an error it has changed nothing.
func (l *Loci) Reload(c Config) (client.Reloaded, error) { return l.parts.Reload(c) }

// OpenAPI returns the OpenAPI description served at /openapi.json.
func OpenAPI() ([]byte, error) { return assembly.OpenAPI() }

// Version returns the release and, if recorded, the commit of this build.
func Version() string { return obs.Version() }
