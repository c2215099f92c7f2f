package tracing

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

func TestOffCostsNothing(t *testing.T) {
	off, err := Open(t.Context(), "", "1", slog.New(slog.DiscardHandler))
	if off != nil || err != nil {
		t.Fatalf("without an endpoint: %v, %v", off, err)
	}
	r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", nil)
	now := time.Now()
	if n := testing.AllocsPerRun(100, func() { play(off, r, now) }); n != 0 {
		t.Errorf("a chat that is not traced allocates %v times", n)
	}
	if err := off.Close(); err != nil {
		t.Error(err)
	}
}

// play does with a tracer what the proxy does with a chat.
func play(tracer *Tracer, r *http.Request, now time.Time) {
	c := tracer.StartChat(r, now, "/v1/chat/completions", "request-1")
	c.AddRecall("default/user/ana", "conversation-1", now, now, now, 3, 0, "trace-1")
	c.StartUpstream(r.Header, now, "m", "openai")
	c.RecordTry(now, time.Millisecond, 200)
	c.EndUpstream(now, "answer-1", "m", "stop", 10, 4)
	c.AddRecord(now, now, "conversation-1")
	c.End(now)
	ctx, end := tracer.StartLearning(context.Background(), memory.Job{Owner: "default/user/ana", Conversation: "conversation-1"})
	_, err := tracer.TraceCompletion(ctx, memory.Prompt{}, nothing)
	end("applied", err)
}

func nothing(context.Context, memory.Prompt) (memory.Reply, error) { return memory.Reply{}, nil }

func TestEndpointIsAURL(t *testing.T) {
	for _, endpoint := range []string{"localhost", "://", "http://"} {
		if _, err := Open(t.Context(), endpoint, "1", slog.New(slog.DiscardHandler)); !errors.Is(err, memory.Invalid) {
			t.Errorf("%q: %v, want invalid", endpoint, err)
		}
	}
}

// BenchmarkChat tells what the spans of a chat cost: off, and on with a collector.
func BenchmarkChat(b *testing.B) {
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer collector.Close()
	r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", nil)
	for _, c := range []struct{ name, endpoint string }{{"off", ""}, {"on", collector.URL}} {
		b.Run(c.name, func(b *testing.B) {
			tracer, err := Open(b.Context(), c.endpoint, "1", slog.New(slog.DiscardHandler))
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = tracer.Close() }()
			b.ReportAllocs()
			for b.Loop() {
				play(tracer, r, time.Now())
			}
		})
	}
}
