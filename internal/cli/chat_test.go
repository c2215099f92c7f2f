package cli

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/loci-memory/loci/client"
)

// chatAt runs loci chat on a memory of its own, without a server, and types the lines.
func chatAt(t *testing.T, ctx context.Context, data string, in io.Reader, args ...string) string {
	t.Helper()
	cmd := newRootCommand()
	var out, said bytes.Buffer
	cmd.SetIn(in)
	cmd.SetOut(&out)
	cmd.SetErr(&said)
	cmd.SetArgs(append([]string{"chat", "--addr", "127.0.0.1:1", "--data", data, "--set", "recall.deadline=10s"}, args...)) // a slow machine recalls, too
	if err := cmd.ExecuteContext(ctx); err != nil {
		t.Fatalf("loci chat: %v: %s%s", err, &out, &said)
	}
	return out.String()
}

func wants(t *testing.T, out string, want ...string) {
	t.Helper()
	at := 0
	for _, w := range want {
		i := strings.Index(out[at:], w)
		if i < 0 {
			t.Fatalf("%q does not follow in\n%s", w, out)
		}
		at += i + len(w)
	}
}

// TestAChatInTheTerminal goes through all that a line may say.
func TestAChatInTheTerminal(t *testing.T) {
	data := t.TempDir()
	out, err := tryAt(t, data, "sqlite", "add", "User plays the oboe")
	if err != nil {
		t.Fatal(out, err)
	}
	const lines = "/again\nWhat do I play?\n/again\n/new\nMy cat is called Pip.\n/help\n/quit\nnever said\n"
	wants(t, chatAt(t, t.Context(), data, strings.NewReader(lines)),
		"this chat has no message yet", "remembered: User plays the oboe", "From memory:", "play the oboe", "remembered: User plays the oboe", "From memory:",
		"a new chat", "Noted.",
		"/again")
	all := try(tryAt(t, data, "sqlite", "export", "--kinds", "turns")).orFail(t)
	wants(t, all, "What do I play?", "My cat is called Pip.")
	for _, unwanted := range []string{"never said", "/again"} {
		if strings.Contains(all, unwanted) {
			t.Errorf("%q is kept: %s", unwanted, all)
		}
	}
	wants(t, chatAt(t, t.Context(), data, nil, "Which", "instrument", "do I play?"), "remembered: User plays the oboe", "oboe")
}

// TestWhoLeavesAChatMidwayLeavesCleanly: Ctrl-C ends it while it waits for a line, and
// while a model answers; then what was said so far is kept.
func TestWhoLeavesAChatMidwayLeavesCleanly(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	quiet, _ := io.Pipe() // nothing is typed
	waiting := &terminalChat{client: client.New("http://127.0.0.1:1", client.Options{}), out: newPrinter(io.Discard)}
	if err := waiting.handleLines(ctx, quiet); err != nil {
		t.Errorf("an interrupt while it waits: %v", err)
	}

	asked := make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/models") { // it is looked at before the chat begins
			_, _ = io.WriteString(w, `{"data":[{"id":"teller"}]}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"content":"Once upon"}}]}`+"\n\n")
		_ = http.NewResponseController(w).Flush()
		close(asked)
		<-r.Context().Done()
	}))
	defer upstream.Close()
	data := t.TempDir()
	ctx, interrupt = context.WithCancel(t.Context())
	go func() { <-asked; interrupt() }()
	chatAt(t, ctx, data, strings.NewReader("Tell me a story.\n"), "--set", "upstream.url="+upstream.URL+"/v1", "--model", "teller")
	all := try(tryAt(t, data, "sqlite", "export", "--kinds", "turns")).orFail(t)
	wants(t, all, "Tell me a story.")
}
