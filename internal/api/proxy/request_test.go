package proxy

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

// oddRequests returns the requests in package chatapi's testdata by name: the client's bytes, and the same
// without Loci's fields.
func oddRequests(t *testing.T) map[string][2]string {
	t.Helper()
	files, err := filepath.Glob("../../chatapi/testdata/odd/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no odd requests: %v", err)
	}
	out := map[string][2]string{}
	for _, file := range files {
		a := try(txtar.ParseFile(file)).orFail(t)
		var one [2]string
		for _, f := range a.Files {
			switch f.Name {
			case "request.json":
				one[0] = string(f.Data)
			case "bare.json":
				one[1] = string(f.Data)
			}
		}
		out[strings.TrimSuffix(filepath.Base(file), ".txtar")] = one
	}
	return out
}

func TestUpstreamGetsTheClientsBytesAndOneInsertion(t *testing.T) {
	for _, placement := range []chatapi.Placement{chatapi.Tail, chatapi.System, chatapi.User} {
		r := newRig(t, func(s *setup) { s.placement = placement })
		r.know(`User's "cat" is called Ünal <b> \ 😀`)
		for name, odd := range oddRequests(t) {
			resp, body := r.chat(odd[0])
			if resp.StatusCode != http.StatusOK {
				t.Errorf("%s: status %d, %s", name, resp.StatusCode, body)
				continue
			}
			got, bare := r.upstream.one(t).body, odd[1]
			added, ok := insertion(bare, got)
			chat := try(chatapi.Decode([]byte(odd[0]))).orFail(t)
			switch {
			case !ok:
				t.Errorf("%s, %s: the upstream got more than one insertion\n got %s\nbare %s", placement, name, got, bare)
			case (chat.LastUser() < 0 || hasNoPlace(placement, chat) || off(chat)) && added != "":
				t.Errorf("%s, %s: inserted %s, want nothing", placement, name, added)
			case chat.LastUser() >= 0 && !hasNoPlace(placement, chat) && !off(chat) && !strings.Contains(added, "Ünal <b> "):
				t.Errorf("%s, %s: inserted %q, want the block", placement, name, added)
			}
		}
	}
}

// insertion returns the text that got has and bare lacks, and whether it is one piece.
func insertion(bare, got string) (string, bool) {
	if len(got) < len(bare) {
		return "", false
	}
	front := 0
	for front < len(bare) && bare[front] == got[front] {
		front++
	}
	back := len(bare) - front
	return got[front : len(got)-back], strings.HasSuffix(got, bare[front:])
}

// hasNoPlace reports whether the user's message has no text before which a block could be inserted.
func hasNoPlace(p chatapi.Placement, c *chatapi.Chat) bool {
	return p == chatapi.User && string(c.WithBlock("x", p)) == string(c.WithoutExtras())
}

// off reports whether a request turns reading of memory off.
func off(c *chatapi.Chat) bool {
	return c.Extras.Mode == chatapi.ModeOff || c.Extras.Mode == chatapi.ModeWrite || (c.Extras.TopK != nil && *c.Extras.TopK == 0)
}

func TestHeadersExceptLocisReachTheUpstream(t *testing.T) {
	const key = "loci-key-0123456789"
	r := newRig(t, func(s *setup) { s.guard.Key = key })
	r.chat(ask("Hello"), "Authorization", "Bearer client-key", httpx.HeaderKey, key, "X-Loci-Project", "p", "X-Loci-Mode", "read", "X-Loci-User", "ana",
		"X-Strange", "kept", "OpenAI-Organization", "org", "Cookie", "session=1", "Accept-Encoding", "br, gzip;q=0.8")
	got := r.upstream.one(t).header
	for name, want := range map[string]string{"Authorization": "Bearer client-key", "X-Strange": "kept", "Openai-Organization": "org", "Accept-Encoding": "gzip"} {
		if got.Get(name) != want {
			t.Errorf("header %s: the upstream got %q, want %q", name, got.Get(name), want)
		}
	}
	for name, values := range got {
		if strings.HasPrefix(name, "X-Loci-") || name == "Cookie" || strings.Contains(strings.Join(values, " "), key) {
			t.Errorf("the upstream got %s: %q", name, values)
		}
	}
}

func TestModes(t *testing.T) {
	for mode, want := range map[string]struct{ reads, writes bool }{
		"": {true, true}, "read_write": {true, true}, "read": {true, false}, "write": {false, true}, "off": {false, false},
	} {
		for _, way := range []string{"field", "header"} {
			r := newRig(t)
			r.know("User has a cat called Ünal")
			body, headers := ask("What is my cat called?"), []string{}
			switch {
			case mode == "":
			case way == "field":
				body = `{"memory_mode":"` + mode + `",` + body[1:]
			default:
				headers = []string{"X-Loci-Mode", mode}
			}
			resp, answer := r.chat(body, headers...)
			sent := r.upstream.one(t).body
			if got := strings.Contains(sent, "Ünal"); got != want.reads {
				t.Errorf("mode %q by %s: memory in the prompt: %v, want %v: %s", mode, way, got, want.reads, sent)
			}
			if got := strings.Contains(answer, "memory_hits"); got != want.reads {
				t.Errorf("mode %q by %s: memory_hits: %v, want %v: %s", mode, way, got, want.reads, answer)
			}
			if got := resp.Header.Get(HeaderTrace) != ""; got != want.reads {
				t.Errorf("mode %q by %s: a trace: %v, want %v", mode, way, got, want.reads)
			}
			if got := len(r.turns()) == 2; got != want.writes || (!got && len(r.turns()) != 0) {
				t.Errorf("mode %q by %s: stored %q, want turns: %v", mode, way, r.turns(), want.writes)
			}
		}
	}
}

func TestInvalidRequestsWriteNothing(t *testing.T) {
	r := newRig(t, func(s *setup) { s.guard.MaxBody = 4 << 10 })
	user := `{"role":"user","content":"I live in Berlin."}`
	for name, c := range map[string]struct {
		body   string
		header []string
		status int
		names  string // required text of the message
	}{
		"nothing":            {"", nil, 400, "JSON"},
		"no JSON":            {`{"messages":[`, nil, 400, "JSON"},
		"messages in a word": {`{"messages":"hello"}`, nil, 400, "messages"},
		"too large":          {`{"messages":[` + user + `],"x":"` + strings.Repeat("x", 5<<10) + `"}`, nil, 413, "4096"},
		"a mode of its own":  {`{"memory_mode":"sometimes","messages":[` + user + `]}`, nil, 400, "memory_mode"},
		"a header":           {`{"messages":[` + user + `]}`, []string{"X-Loci-Top-K", "many"}, 400, "X-Loci-Top-K"},
	} {
		resp, body := r.chat(c.body, c.header...)
		if resp.StatusCode != c.status || resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: status %d of %s, want %d of JSON: %s", name, resp.StatusCode, resp.Header.Get("Content-Type"), c.status, body)
			continue
		}
		if message, kind, _ := errorOf(t, body); !strings.Contains(message, c.names) || kind != "invalid_request_error" {
			t.Errorf("%s: %s %q does not name %q", name, kind, message, c.names)
		}
	}
	if got := r.upstream.asked(); len(got) > 0 {
		t.Errorf("the upstream was asked %+v", got)
	}
	counts, err := r.store.Counts(context.Background(), nobody)
	if err != nil || counts != (memory.Counts{}) {
		t.Errorf("stored: %+v, %v; want nothing", counts, err)
	}
}

func TestChatWithoutUserPassesWithoutMemory(t *testing.T) {
	r := newRig(t, func(s *setup) { s.guard.MultiUser = true })
	r.know("User has a cat called Ünal") // of the default user in single mode
	for _, body := range []string{ask("What is my cat called?"), `{"user":"ben",` + ask("What is my cat called?")[1:]} {
		_, answer := r.chat(body)
		if sent := r.upstream.one(t).body; sent != body {
			t.Errorf("sent %s, want the client's bytes %s", sent, body)
		}
		if named := strings.Contains(body, "ben"); strings.Contains(answer, "memory_hits") != named {
			t.Errorf("%s: answered %s", body, answer)
		}
	}
	r.wantTurns()
}

func TestRequestWithoutMemoryIsSentOnce(t *testing.T) {
	r := newRig(t)
	r.upstream.answers(sends(http.StatusBadRequest, `{}`))
	r.chat(`{"memory_top_k":0,` + ask("Hello")[1:])
	r.upstream.one(t)
}

func (u *upstream) last() request {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.got[len(u.got)-1]
}

// TestToolStepsStayOffTheRecord covers tool results for a question off the record.
func TestToolStepsStayOffTheRecord(t *testing.T) {
	r := newRig(t)
	const ask = `{"role":"user","content":"Keep this between us, I have HIV. Where is a clinic?"}`
	const call = `{"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"find","arguments":"{}"}}]}`
	r.upstream.answers(sends(http.StatusOK, `{"choices":[{"message":`+call+`}]}`, "Content-Type", "application/json"))
	r.chat(`{"messages":[` + ask + `]}`)
	r.upstream.answers(sends(http.StatusOK, `{"choices":[{"message":{"role":"assistant","content":"An HIV clinic is in Rua Augusta."}}]}`, "Content-Type", "application/json"))
	r.chat(`{"messages":[` + ask + `,` + call + `,{"role":"tool","tool_call_id":"t1","content":"HIV clinic, Rua Augusta"}]}`)
	turns, err := r.store.Turns(context.Background(), nobody, memory.TurnQuery{Statuses: []memory.Status{memory.Active, memory.Replaced, memory.Retired}})
	if err != nil || len(turns) != 4 {
		t.Fatalf("stored %+v, %v; want four turns", turns, err)
	}
	for _, turn := range turns {
		if strings.Contains(turn.Content, "HIV") {
			t.Errorf("%s: stored %q", turn.Role, turn.Content)
		}
	}
}
