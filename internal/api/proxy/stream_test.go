package proxy

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/memory"
)

const streaming = `{"stream":true,"model":"m","messages":[{"role":"user","content":"Hi"}]}`

// oddStreams are framed as no two servers do it. All say "Hello!".
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

func TestStreamsComeBackAsTheyAre(t *testing.T) {
	r := newRig(t)
	r.know("User has a cat called Ünal")
	for name, pieces := range oddStreams {
		r.upstream.answers(streams(pieces...))
		id := `{"memory_id":"` + name + `",`
		resp, got := r.chat(id + streaming[1:])
		if want := strings.Join(pieces, ""); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		if resp.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" || resp.Header.Get(HeaderTrace) == "" || resp.Header.Get("Content-Length") != "" {
			t.Errorf("%s: headers %v", name, resp.Header)
		}
		r.wantTurnsOf(name, "user: Hi", "assistant: Hello!")
	}
}

func (r *rig) wantTurnsOf(conversation string, want ...string) {
	r.t.Helper()
	turns, err := r.store.Store.Turns(context.Background(), nobody, memory.TurnQuery{Conversation: conversation})
	if err != nil {
		r.t.Fatal(err)
	}
	var got []string
	for _, turn := range turns {
		got = append(got, string(turn.Role)+": "+turn.Content)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		r.t.Errorf("%s: stored %q, want %q", conversation, got, want)
	}
}

func TestCompressedStreamsComeBackAsTheyAreAndAreHeard(t *testing.T) {
	r := newRig(t)
	for name, pieces := range oddStreams {
		sent := flushedZip(t, pieces)
		r.upstream.answers(func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			streams(sent...)(w, req)
		})
		id := `{"memory_id":"` + name + `",`
		resp, got := r.chat(id+streaming[1:], "Accept-Encoding", "gzip")
		if got != strings.Join(sent, "") || resp.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%s: got %q in %q, want %q", name, got, resp.Header.Get("Content-Encoding"), sent)
		}
		r.wantTurnsOf(name, "user: Hi", "assistant: Hello!")
	}
}

// flushedZip compresses a stream as a server does that flushes each piece.
func flushedZip(t testing.TB, pieces []string) []string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	var out []string
	for _, p := range pieces {
		if _, err := z.Write([]byte(p)); err != nil {
			t.Fatal(err)
		}
		if err := z.Flush(); err != nil {
			t.Fatal(err)
		}
		out = append(out, b.String())
		b.Reset()
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return append(out, b.String())
}

// TestStreamIsPassedEventByEvent sends each event only once the client has the
// one before, headers first.
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

func TestLastEventComesWhenTheTurnsAreStored(t *testing.T) {
	for name, encode := range map[string]func([]string) []string{
		"":     func(p []string) []string { return p },
		"gzip": func(p []string) []string { return flushedZip(t, p) },
	} {
		r := newRig(t)
		storing, store := make(chan struct{}), make(chan struct{})
		var mu sync.Mutex
		var order []string
		note := func(s string) { mu.Lock(); order = append(order, s); mu.Unlock() }
		r.store.onAppend = func(_ context.Context, b memory.Batch) error {
			if isAnswer(b) {
				close(storing)
				<-store
				note("stored")
			}
			return nil
		}
		pieces := encode([]string{delta("Hello!"), "data: [DONE]\n\n"})
		seen := make(chan struct{})
		r.upstream.answers(func(w http.ResponseWriter, req *http.Request) {
			if name != "" {
				w.Header().Set("Content-Encoding", name)
			}
			streams(pieces[0])(w, req)
			<-seen // or both may come to the proxy in one piece
			streams(pieces[1:]...)(w, req)
		})
		resp := r.send(http.MethodPost, chatPath, streaming, "Accept-Encoding", "gzip")
		before := make([]byte, len(pieces[0]))
		if _, err := io.ReadFull(resp.Body, before); err != nil || string(before) != pieces[0] {
			t.Fatalf("encoding %q: got %q, %v; want %q while the turns are not stored", name, before, err, pieces[0])
		}
		close(seen)
		read := make(chan struct{})
		go func() {
			defer close(read)
			one := make([]byte, 1)
			if _, err := resp.Body.Read(one); err == nil {
				note("last event")
			}
		}()
		<-storing
		close(store)
		<-read
		mu.Lock()
		if got := strings.Join(order, ", "); got != "stored, last event" {
			t.Errorf("encoding %q: order %q, want the last event after the turns", name, got)
		}
		mu.Unlock()
		if got := r.read(resp); !strings.HasSuffix(strings.Join(pieces, ""), got) {
			t.Errorf("encoding %q: the rest is %q", name, got)
		}
		r.wantTurns("user: Hi", "assistant: Hello!")
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
		t.Errorf("first line %q, %v; want the answer while the store stands still", line, err)
	}
	close(store)
}

func TestClientThatHangsUpLeavesWhatWasSaid(t *testing.T) {
	r := newRig(t)
	r.upstream.answers(func(w http.ResponseWriter, req *http.Request) {
		streams(delta("Hello"))(w, req)
		<-req.Context().Done() // the proxy hangs up too
	})
	ctx, hangUp := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+chatPath, strings.NewReader(streaming))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	hangUp()
	r.finish()
	r.wantTurns("user: Hi", "assistant: Hello")
	if got := r.failures(); got != "0" {
		t.Errorf("exchanges that were not recorded: %s, want none", got)
	}
}

func TestStreamCutOffIsCutOffForTheClient(t *testing.T) {
	r := newRig(t)
	r.upstream.answers(func(w http.ResponseWriter, req *http.Request) {
		streams(delta("Hello"), "data: {\"choi")(w, req)
		panic(http.ErrAbortHandler)
	})
	resp := r.send(http.MethodPost, chatPath, streaming)
	got, err := io.ReadAll(resp.Body)
	if want := delta("Hello") + "data: {\"choi"; string(got) != want || err == nil {
		t.Errorf("got %q, %v; want %q and a broken connection", got, err, want)
	}
	r.wantTurns("user: Hi", "assistant: Hello")

	r.upstream.answers(streams(delta("Back."), "data: [DONE]\n\n"))
	if _, got := r.chat(streaming); !strings.Contains(got, "Back.") {
		t.Errorf("the next chat got %q", got)
	}
}

func TestStreamWithoutMemoryPasses(t *testing.T) {
	r := newRig(t)
	for name, pieces := range oddStreams {
		r.upstream.answers(streams(pieces...))
		if _, got := r.chat(`{"memory_mode":"off",` + streaming[1:]); got != strings.Join(pieces, "") {
			t.Errorf("%s: got %q, want %q", name, got, pieces)
		}
	}
	r.wantTurns()
}

// FuzzListener cuts any stream into pieces and holds that all its bytes come out,
// in order and unchanged.
func FuzzListener(f *testing.F) {
	for _, pieces := range oddStreams {
		f.Add([]byte(strings.Join(pieces, "")), uint8(7), uint8(0))
		f.Add([]byte(strings.Join(flushedZip(f, pieces), "")), uint8(7), uint8(1))
	}
	f.Fuzz(func(t *testing.T, stream []byte, size, encoding uint8) {
		l := listen([]string{"", "gzip", "br"}[encoding%3], chatapi.Completions)
		defer l.stop()
		var out []byte
		rest := stream
		for len(rest) > 0 && !l.ended() {
			n := min(int(size)+1, len(rest))
			out = append(out, l.pass(rest[:n])...)
			l.hear()
			rest = rest[n:]
		}
		l.answer()
		out = append(append(out, l.held()...), rest...)
		if !bytes.Equal(out, stream) {
			t.Errorf("pieces of %d bytes of %q came out as %q", int(size)+1, stream, out)
		}
	})
}
