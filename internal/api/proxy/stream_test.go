package proxy

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/memory"
)

const streaming = `{"stream":true,"model":"m","messages":[{"role":"user","content":"Hi"}]}`

// oddStreams are streams with unusual framing. The answer of all is "Hello!".
var oddStreams = map[string][]string{
	"usual":             {delta("Hel"), delta("lo!"), "data: [DONE]\n\n"},
	"in one piece":      {delta("Hel") + delta("lo!") + "data: [DONE]\n\n"},
	"split events":      {`data: {"choices":[{"del`, `ta":{"content":"Hello!"}}]}`, "\n", "\nda", "ta: [DO", "NE]\n", "\n"},
	"comments":          {": PROCESSING\n\n", ": still\n" + delta("Hello!"), ": ping\n\n", "data: [DONE]\n\n"},
	"CRLF":              {"event: chunk\r\ndata:{\"choices\":[{\"delta\":{\"content\":\"Hello!\"}}]}\r\n\r\n", "data: [DONE]\r\n\r\n"},
	"CRLF in two":       {"data:{\"choices\":[{\"delta\":{\"content\":\"Hello!\"}}]}\r\n\r", "\ndata: [DONE]\r\n\r", "\n"},
	"ids and retry":     {"id: 1\nretry: 10\n" + delta("Hello!"), "data: [DONE]\n\n"},
	"without an end":    {delta("Hello!")},
	"cut at the end":    {delta("Hello!"), "data: [DONE]"},
	"more after it":     {delta("Hello!"), "data: [DONE]\n\n", ": bye\n\n"},
	"no JSON between":   {"data: {\n\n", delta("Hello!"), "data: \xff\n\n", "data: [DONE]\n\n"},
	"several choices":   {`data: {"choices":[{"index":1,"delta":{"content":"Bye"}}]}` + "\n\n", delta("Hello!"), "data: [DONE]\n\n"},
	"a long comment":    {": " + strings.Repeat("x", 10<<10) + "\n\n", delta("Hello!"), "data: [DONE]\n\n"},
	"usage in the last": {delta("Hello!"), `data: {"choices":[],"usage":{"total_tokens":3}}` + "\n\n", "data: [DONE]\n\n"},
}

func (r *rig) wantTurnsOf(conversation string, want ...string) {
	r.t.Helper()
	turns := try(r.store.Store.Turns(context.Background(), nobody, memory.TurnQuery{Conversation: conversation})).orFail(r.t)
	var got []string
	for _, turn := range turns {
		got = append(got, string(turn.Role)+": "+turn.Content)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		r.t.Errorf("%s: stored %q, want %q", conversation, got, want)
	}
}

// flushedZip compresses a stream and flushes each piece.
func flushedZip(t testing.TB, pieces []string) []string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	var out []string
	for _, p := range pieces {
		noError(t)(z.Write([]byte(p)))
		noError(t)(z.Flush())
		out = append(out, b.String())
		b.Reset()
	}
	noError(t)(z.Close())
	return append(out, b.String())
}

// TestStreamIsPassedEventByEvent sends each event after the client has received the one before, headers first.
func TestStreamIsPassedEventByEvent(t *testing.T) {
	events := []string{delta("Hel"), ": ping\n\n", delta("lo!")}
	for name, encode := range map[string]func([]string) []string{
		"":     func(p []string) []string { return p },
		"gzip": func(p []string) []string { return flushedZip(t, p) },
	} {
		r := newRig(t)
		seen := make(chan struct{})
		pieces := encode(append(events, "data: [DONE]\n\n"))
		r.upstream.answers(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			if name != "" {
				w.Header().Set("Content-Encoding", name)
			}
			w.(http.Flusher).Flush()
			for _, p := range pieces {
				<-seen
				_, _ = io.WriteString(w, p)
				w.(http.Flusher).Flush()
			}
		})
		resp := r.send(http.MethodPost, chatPath, streaming, "Accept-Encoding", "gzip") // returns with the headers
		for _, p := range pieces {
			seen <- struct{}{}
			got := make([]byte, len(p))
			if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != p {
				t.Fatalf("encoding %q: got %q, %v; want %q before the next is sent", name, got, err, p)
			}
		}
	}
}

func TestFirstByteDoesNotWaitForTheStore(t *testing.T) {
	r := newRig(t)
	store := make(chan struct{})
	r.store.onAppend = func(context.Context, memory.Batch) error { <-store; return nil }
	r.upstream.answers(streams(delta("Hello!"), "data: [DONE]\n\n"))
	resp := r.send(http.MethodPost, chatPath, streaming)
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	if err != nil || !strings.Contains(line, "Hello!") {
		t.Errorf("first line %q, %v; want the answer while the store is blocked", line, err)
	}
	close(store)
}

// FuzzListener splits any stream into pieces. All its bytes must come out, in order and unchanged.
func FuzzListener(f *testing.F) {
	for _, pieces := range oddStreams {
		f.Add([]byte(strings.Join(pieces, "")), uint8(7), uint8(0))
		f.Add([]byte(strings.Join(flushedZip(f, pieces), "")), uint8(7), uint8(1))
	}
	f.Fuzz(func(t *testing.T, stream []byte, size, encoding uint8) {
		l := newStreamDecoder([]string{"", "gzip", "br"}[encoding%3], chatapi.Completions)
		defer l.close()
		var out []byte
		rest := stream
		for len(rest) > 0 && !l.ended() {
			n := min(int(size)+1, len(rest))
			out = append(out, l.accept(rest[:n])...)
			l.decode()
			rest = rest[n:]
		}
		l.answer()
		out = append(append(out, l.withheldBytes()...), rest...)
		if !bytes.Equal(out, stream) {
			t.Errorf("pieces of %d bytes of %q came out as %q", int(size)+1, stream, out)
		}
	})
}
