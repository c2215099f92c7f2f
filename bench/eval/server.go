package eval

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

// Serving is a server that another part of the program runs.
type Serving struct {
	URL    string
	Settle func(context.Context) error // waits until everything due is done
	Models Models
}

// Server is a [Target] over HTTP: a running Loci, with every stage on.
type Server struct {
	URL    string
	Key    string       // "" for none
	HTTP   *http.Client // nil: http.DefaultClient
	Models Models

	Settle func(context.Context) error // waits for vectors after turns were added; nil: writes wait for them

	skipped atomic.Int64
}

// Skipped returns how many searches went without a part of recall.
func (s *Server) Skipped() int { return int(s.skipped.Load()) }

func (s *Server) client(owner memory.Owner) *client.Client {
	return client.New(s.URL, client.Options{Key: s.Key, User: owner.Name(), HTTP: s.HTTP})
}

// Ingest keeps turns word for word and learns nothing from them.
func (s *Server) Ingest(ctx context.Context, owner memory.Owner, turns []Turn) error {
	infer := false
	for start := 0; start < len(turns); {
		end := start
		in := client.AddMessages{Infer: &infer, Conversation: turns[start].Session}
		for end < len(turns) && turns[end].Session == in.Conversation {
			t := turns[end]
			if end++; strings.TrimSpace(t.Content) == "" {
				continue // some data sets have turns in which nothing is said
			}
			m := client.Message{Role: t.Role, Name: t.Name, Content: t.Content, ID: t.Ref}
			if !t.At.IsZero() {
				m.CreatedAt = &t.At
			}
			in.Messages = append(in.Messages, m)
		}
		start = end
		if len(in.Messages) == 0 {
			continue
		}
		if _, err := s.client(owner).AddMessages(ctx, in); err != nil {
			return fmt.Errorf("add %d messages: %w", len(in.Messages), err)
		}
	}
	if s.Settle != nil {
		return s.Settle(ctx)
	}
	return nil
}

// Search asks for the k best turns.
func (s *Server) Search(ctx context.Context, owner memory.Owner, question string, k int) ([]Found, error) {
	answer, err := s.client(owner).Search(ctx, client.SearchRequest{Query: question, TopK: &k, Kinds: []memory.Kind{memory.KindTurn}})
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
