package eval

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/memory"
)

// Instance is a Loci server in this process with a temporary memory.
type Instance struct {
	Server
	Loci *loci.Loci

	stop    context.CancelFunc
	stopped chan error
	web     *httptest.Server
}

// OpenInstance opens an instance with the models and recall settings of c, and other settings. now is its clock; nil:
// the system's.
func OpenInstance(
	ctx context.Context, c config.Config, settings map[string]string, now func() time.Time,
) (*Instance, error) {
	flags := map[string]string{"store": "memory", "learn.trust": "always"}
	maps.Copy(flags, settings)
	own, err := c.BenchConfig(flags)
	if err != nil {
		return nil, err
	}
	l, err := loci.Open(ctx, own, loci.Options{Now: now})
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	i := &Instance{Loci: l, stop: stop, stopped: make(chan error, 1), web: httptest.NewServer(l.Handler())}
	go func() { i.stopped <- l.Run(running) }()
	i.Server = Server{URL: i.web.URL, HTTP: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	if strings.HasPrefix(l.Config().Embedder, "remote:") {
		i.Settle = l.Settle
	}
	return i, nil
}

// Models returns the names of its models.
func (i *Instance) Models() Models { return ModelsOf(i.Loci.Config()) }

// Close stops the instance.
func (i *Instance) Close() error {
	i.HTTP.CloseIdleConnections()
	i.web.Close()
	i.stop()
	return errors.Join(<-i.stopped, i.Loci.Close())
}

// Server is a [Target] over HTTP: a running Loci with all stages.
type Server struct {
	URL    string
	HTTP   *http.Client                // nil: http.DefaultClient
	Settle func(context.Context) error // waits for vectors after a write; nil: writes wait themselves

	skipped atomic.Int64
}

// Skipped returns the number of degraded searches.
func (s *Server) Skipped() int { return int(s.skipped.Load()) }

// As returns a client for a user.
func (s *Server) As(user string) *client.Client {
	return client.New(s.URL, client.Options{User: user, HTTP: s.HTTP})
}

// message returns a turn as a client's message, with its ref as the id.
func (t Turn) message() client.Message {
	m := client.Message{Role: t.Role, Name: t.Name, Content: t.Content, ID: t.Ref}
	if !t.At.IsZero() {
		m.CreatedAt = &t.At
	}
	return m
}

// Ingest adds turns, session by session, without learning.
func (s *Server) Ingest(ctx context.Context, owner memory.Owner, turns []Turn) error {
	infer := false
	in := client.AddMessages{Infer: &infer}
	for i, t := range turns {
		in.Conversation = t.Session
		if strings.TrimSpace(t.Content) != "" { // some data sets have empty turns
			in.Messages = append(in.Messages, t.message())
		}
		if len(in.Messages) == 0 || i+1 < len(turns) && turns[i+1].Session == t.Session {
			continue
		}
		if _, err := s.As(owner.Name()).AddMessages(ctx, in); err != nil {
			return fmt.Errorf("add %d messages: %w", len(in.Messages), err)
		}
		in.Messages = nil
	}
	if s.Settle != nil {
		return s.Settle(ctx)
	}
	return nil
}

// Search returns the k best turns.
func (s *Server) Search(ctx context.Context, owner memory.Owner, question string, k int) ([]Found, error) {
	ask := client.SearchRequest{Query: question, TopK: &k, Kinds: []memory.Kind{memory.KindTurn}}
	answer, err := s.As(owner.Name()).Search(ctx, ask)
	if err != nil {
		return nil, err
	}
	if len(answer.Degraded) > 0 {
		s.skipped.Add(1)
	}
	out := make([]Found, len(answer.Hits))
	for i, h := range answer.Hits {
		out[i] = Found{Ref: h.Ref, Score: h.Score}
	}
	return out, nil
}
