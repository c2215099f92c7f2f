package proxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

func TestDialectsGetMemoryAndAreRecorded(t *testing.T) {
	inEveryDialect(t, func(t *testing.T, s speech) {
		r := newRig(t)
		r.know("User has a cat called Ünal")
		r.upstream.answers(s.says("She is called Ünal."))
		body := s.request("What is my cat called?")
		resp, got := s.ask(r, body, "Anthropic-Version", "2023-06-01", "Anthropic-Beta", "b1,b2", "X-Api-Key", "the client's")
		sent := r.upstream.one(t)
		if !strings.Contains(sent.body, "- has a cat called Ünal") || !strings.Contains(sent.body, "What is my cat called?") || sent.uri != s.Path {
			t.Errorf("%s got %s, want the question with memory", sent.uri, sent.body)
		}
		for name, want := range map[string]string{"Anthropic-Version": "2023-06-01", "Anthropic-Beta": "b1,b2", "X-Api-Key": "the client's"} {
			if sent.header.Get(name) != want {
				t.Errorf("header %s: the upstream got %q, want %q", name, sent.header.Get(name), want)
			}
		}
		front := strings.TrimSuffix(s.answer("She is called Ünal."), "}\n")
		if !strings.HasPrefix(got, front+`,"memory_hits":[{"id":`) || resp.Header.Get(HeaderTrace) == "" {
			t.Errorf("answered %s with trace %q, want the upstream's bytes and memory_hits", got, resp.Header.Get(HeaderTrace))
		}

		r.upstream.answers(streams(s.stream("A ", "dog.")...))
		resp, got = s.ask(r, s.streaming("What is my cat called?", "She is called Ünal.", "And what else have I?"))
		if want := strings.Join(s.stream("A ", "dog."), ""); got != want || resp.Header.Get(HeaderTrace) == "" {
			t.Errorf("streamed %q with trace %q, want %q", got, resp.Header.Get(HeaderTrace), want)
		}
		r.wantTurns("user: What is my cat called?", "assistant: She is called Ünal.", "user: And what else have I?", "assistant: A dog.")
		if n := r.conversations(); n != 1 {
			t.Errorf("%d conversations, want the one that goes on", n)
		}
	})
}

func (r *rig) conversations() int {
	r.t.Helper()
	page := try(r.store.Conversations(context.Background(), nobody, memory.ConversationQuery{})).orFail(r.t)
	return len(page.Conversations)
}

func TestDialectsRemoveLocisFields(t *testing.T) {
	inEveryDialect(t, func(t *testing.T, s speech) {
		r := newRig(t)
		r.know("User has a cat called Ünal")
		r.upstream.answers(s.says("Hello!"))
		body := s.request("Hello there")
		for _, extra := range []string{`"memory_mode":"off"`, `"memory_mode":"write"`, `"memory_top_k":0,"memory_id":"c1","memory_project":"p"`} {
			_, got := s.ask(r, `{`+extra+`,`+body[1:])
			if sent := r.upstream.one(t).body; sent != body || got != s.answer("Hello!") {
				t.Errorf("%s: sent %s, answered %s; want the client's and the upstream's bytes", extra, sent, got)
			}
		}
		s.ask(r, body, "X-Loci-Mode", "read", "X-Loci-User", "ana")
		sent := r.upstream.one(t)
		for name := range sent.header {
			if strings.HasPrefix(name, "X-Loci-") {
				t.Errorf("the upstream got the header %s", name)
			}
		}
		r.wantTurnsOf("c1", "user: Hello there", "assistant: Hello!")
	})
}

func TestDialectsKeepUsersApart(t *testing.T) {
	inEveryDialect(t, func(t *testing.T, s speech) {
		const key = "loci-key-0123456789"
		r := newRig(t, func(x *setup) { x.guard.Key, x.guard.MultiUser, x.guard.Refuse = key, true, Refuse })
		r.upstream.answers(s.says("Noted."))
		say := func(user, text string) (string, http.Header) {
			s.ask(r, s.request(text), "X-Api-Key", key, httpx.HeaderUser, user)
			sent := r.upstream.one(t)
			return sent.body, sent.header
		}
		say("ana", "My cat is called Mitzi and my dog Rex.")
		if sent, header := say("ana", "What is the name of my cat again?"); !strings.Contains(sent, "Mitzi") || len(header.Values("X-Api-Key")) > 0 {
			t.Errorf("ana's request went on as %s with %v; want her words, and not Loci's key", sent, header)
		}
		if sent, _ := say("ben", "What is the name of my cat again?"); strings.Contains(sent, "Mitzi") {
			t.Errorf("ben gets %s", sent)
		}
		body := s.request("What is the name of my cat again?")
		if s.ask(r, body, "X-Api-Key", key); r.upstream.one(t).body != body {
			t.Error("nobody in particular gets memory")
		}
		resp, got := s.ask(r, body, "X-Api-Key", "another")
		if resp.StatusCode != http.StatusUnauthorized || at(t, got, s.message...) == "" || len(r.upstream.asked()) > 0 {
			t.Errorf("a wrong key: %d %s", resp.StatusCode, got)
		}
	})
}

func TestDialectToolLoopKeepsTheBlock(t *testing.T) {
	inEveryDialect(t, func(t *testing.T, s speech) {
		r := newRig(t)
		r.know("User has a cat called Ünal")
		r.upstream.answers(sends(http.StatusOK, s.call, "Content-Type", "application/json"))
		ask := s.request("What does my cat weigh?")
		s.ask(r, ask)
		first := r.upstream.one(t).body
		r.know("User has a dog called Rex")
		r.upstream.answers(s.says("Four kilos."))
		s.ask(r, strings.TrimSuffix(ask, "]}")+s.step+"}")
		second := r.upstream.one(t).body
		if front := strings.TrimSuffix(first, "]}"); !strings.HasPrefix(second, front) || !strings.Contains(front, "Ünal") || strings.Contains(second, "Rex") {
			t.Errorf("the steps of a tool loop:\n%s\n%s\nwant the second to begin with the first", first, second)
		}
		r.wantTurns("user: What does my cat weigh?", "assistant: ", "tool: ", "assistant: Four kilos.")
		s.ask(r, s.request("What does my cat weigh?", "Four kilos.", "And the dog?"))
		if third := r.upstream.one(t).body; !strings.Contains(third, "Rex") {
			t.Errorf("the next question is sent as %s, want the current facts", third)
		}
	})
}

func TestDialectsFallBackToTheClientsBytes(t *testing.T) {
	inEveryDialect(t, func(t *testing.T, s speech) {
		for _, status := range []int{400, 413, 422} {
			r := newRig(t)
			r.know("User has a cat called Ünal")
			r.upstream.answers(func(w http.ResponseWriter, req *http.Request) {
				if last := r.upstream.last().body; strings.Contains(last, "Ünal") && !strings.Contains(last, "Current message: ") {
					sends(status, strings.Replace(s.refusal, `"no"`, `"roles must alternate"`, 1))(w, req)
					return
				}
				s.says("Hello!")(w, req)
			})
			body := s.request("What is my cat called?")
			resp, answer := s.ask(r, body)
			asked := r.upstream.asked()
			if len(asked) != 2 || asked[1].body != body || resp.StatusCode != http.StatusOK || !strings.Contains(answer, `"memory_hits":[]`) {
				t.Fatalf("status %d: asked %+v, answered %d %s; want the client's bytes the second time", status, asked, resp.StatusCode, answer)
			}
			s.ask(r, body)
			if again := r.upstream.one(t).body; !strings.Contains(again, `\n\nCurrent message: What is my cat called?"`) {
				t.Errorf("status %d: next time the upstream got %s, want memory in the user's message", status, again)
			}
		}
		for _, status := range []int{401, 429, 500, 529} {
			r := newRig(t)
			r.know("User has a cat called Ünal")
			r.upstream.answers(sends(status, s.refusal, "Content-Type", "application/json", "Retry-After", "7"))
			resp, got := s.ask(r, s.request("Hello there"))
			if r.upstream.one(t); resp.StatusCode != status || got != s.refusal || resp.Header.Get("Retry-After") != "7" {
				t.Errorf("status %d: got %d %s", status, resp.StatusCode, got)
			}
		}
	})
}

func TestDialectStreamsPassUnchanged(t *testing.T) {
	inEveryDialect(t, func(t *testing.T, s speech) {
		r := newRig(t)
		whole := strings.Join(s.stream("Hel", "lo!"), "")
		for name, pieces := range map[string][]string{
			"event by event":  s.stream("Hel", "lo!"),
			"in one piece":    {whole},
			"split":           {whole[:30], whole[30:31], whole[31 : len(whole)-1], whole[len(whole)-1:]},
			"cut at the end":  {strings.TrimSuffix(whole, "\n\n")},
			"more behind it":  {whole, ": bye\n\n"},
			"without an end":  {s.begin, s.piece("Hello!")},
			"CRLF":            {strings.ReplaceAll(whole, "\n", "\r\n")},
			"a done after it": {whole, "data: [DONE]\n\n"},
		} {
			for _, zipped := range []bool{false, true} {
				sent, id := pieces, name
				if zipped {
					sent, id = flushedZip(t, pieces), name+", zipped"
				}
				r.upstream.answers(func(w http.ResponseWriter, req *http.Request) {
					if zipped {
						w.Header().Set("Content-Encoding", "gzip")
					}
					streams(sent...)(w, req)
				})
				if _, got := s.ask(r, `{"memory_id":"`+id+`",`+s.streaming("Hi")[1:], "Accept-Encoding", "gzip"); got != strings.Join(sent, "") {
					t.Errorf("%s: got %q, want %q", id, got, sent)
				}
				r.wantTurnsOf(id, "user: Hi", "assistant: Hello!")
			}
		}
	})
}

func TestLastEventWaitsForTheStore(t *testing.T) {
	inEveryDialect(t, func(t *testing.T, s speech) {
		r := newRig(t)
		storing, store := make(chan struct{}), make(chan struct{})
		r.store.onAppend = func(_ context.Context, b memory.Batch) error {
			if isAnswer(b) {
				close(storing)
				<-store
			}
			return nil
		}
		r.upstream.answers(streams(s.stream("Hello!")...))
		resp := r.send(http.MethodPost, s.Path, s.streaming("Hi"))
		before := make([]byte, len(s.begin+s.piece("Hello!")))
		if _, err := io.ReadFull(resp.Body, before); err != nil {
			t.Fatalf("got %q, %v; want all but the last event while nothing is stored", before, err)
		}
		<-storing
		read := make(chan string, 1)
		go func() {
			first := make([]byte, 1)
			_, _ = io.ReadFull(resp.Body, first)
			read <- string(first)
		}()
		select {
		case <-read:
			t.Error("the last event comes before the answer is stored")
			close(store)
		case <-time.After(50 * time.Millisecond): // it would have arrived
			close(store)
			if got := <-read + r.read(resp); got != s.end {
				t.Errorf("the last event is %q, want %q", got, s.end)
			}
		}
		r.wantTurns("user: Hi", "assistant: Hello!")
	})
}

func TestPartialAnswerIsStoredAfterADisconnect(t *testing.T) {
	inEveryDialect(t, func(t *testing.T, s speech) {
		r := newRig(t)
		r.upstream.answers(func(w http.ResponseWriter, req *http.Request) {
			streams(s.begin, s.piece("Hello"), "event: c")(w, req)
			panic(http.ErrAbortHandler)
		})
		resp := r.send(http.MethodPost, s.Path, `{"memory_id":"cut off",`+s.streaming("Hi")[1:])
		got, err := io.ReadAll(resp.Body)
		if want := s.begin + s.piece("Hello") + "event: c"; string(got) != want || err == nil {
			t.Errorf("got %q, %v; want %q and a broken connection", got, err, want)
		}
		r.wantTurnsOf("cut off", "user: Hi", "assistant: Hello")

		r.upstream.answers(func(w http.ResponseWriter, req *http.Request) {
			streams(s.begin, s.piece("Bye"))(w, req)
			<-req.Context().Done() // the proxy disconnects too
		})
		ctx, hangUp := context.WithCancel(context.Background())
		req := try(http.NewRequestWithContext(ctx, http.MethodPost, r.url+s.Path, strings.NewReader(`{"memory_id":"gone",`+s.streaming("Hi")[1:]))).orFail(t)
		if resp, err = plain.Do(req); err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		noError(t)(io.ReadFull(bufio.NewReader(resp.Body), make([]byte, len(s.begin+s.piece("Bye")))))
		hangUp()
		r.finish()
		r.wantTurnsOf("gone", "user: Hi", "assistant: Bye")
	})
}

func TestErrorsHaveTheDialectsFormat(t *testing.T) {
	inEveryDialect(t, func(t *testing.T, s speech) {
		r := newRig(t, func(x *setup) { x.guard.Refuse = Refuse })
		check := func(what string, status int, kind string, resp *http.Response, body string) {
			t.Helper()
			if resp.StatusCode != status || at(t, body, s.kind...) != kind || at(t, body, s.message...) == "" {
				t.Errorf("%s: %d %s, want %d %s", what, resp.StatusCode, body, status, kind)
			}
		}
		for _, body := range []string{``, `[]`, `{"memory_mode":"on",` + s.request("Hi")[1:]} {
			resp, got := s.ask(r, body)
			check(body, http.StatusBadRequest, s.invalid, resp, got)
		}
		if asked := r.upstream.asked(); len(asked) > 0 {
			t.Errorf("the upstream was asked %+v", asked)
		}
		resp, got := s.ask(r, s.request("Hi"), "Host", "x", "Origin", "https://evil.test")
		if resp.StatusCode != http.StatusForbidden || at(t, got, s.message...) == "" {
			t.Errorf("another page: %d %s", resp.StatusCode, got)
		}
		r.upstream.Close()
		if resp, got = s.ask(r, s.request("Hi")); resp.StatusCode != http.StatusBadGateway || !strings.Contains(at(t, got, s.message...), "refused") {
			t.Errorf("an upstream that is down: %d %s", resp.StatusCode, got)
		}
	})
}

func TestDialectsAreAnsweredByTheBuiltInModel(t *testing.T) {
	inEveryDialect(t, func(t *testing.T, s speech) {
		r := newRig(t, func(x *setup) { x.alone = true })
		r.know("User has a cat called Ünal")
		const question = "What is my cat called?"
		resp, got := s.ask(r, s.request(question))
		a, err := s.ReadAnswer([]byte(got))
		if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(a.Text, "Ünal") || !strings.HasPrefix(a.ID, s.AnswerIDPrefix) || !strings.Contains(got, `"memory_hits":[{`) {
			t.Fatalf("%d %s, %v", resp.StatusCode, got, err)
		}
		resp, got = s.ask(r, s.streaming(question, a.Text, "And my cat again?"))
		heard := s.NewStream()
		_, _ = io.WriteString(heard, got)
		if final := heard.Answer(); !heard.Done() || !strings.Contains(final.Text, "Ünal") || resp.Header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("streamed %s", got)
		}
		r.wantTurns("user: "+question, "assistant: "+a.Text, "user: And my cat again?", "assistant: "+heard.Answer().Text)
		if resp, got := s.ask(r, `{}`); resp.StatusCode == http.StatusOK && s.Path == "/v1/messages" {
			t.Errorf("no messages: %s", got)
		}
	})
}

func TestClientTasksPassWithoutMemory(t *testing.T) {
	inEveryDialect(t, func(t *testing.T, s speech) {
		r := newRig(t)
		r.know("User has a cat called Ünal")
		r.upstream.answers(s.says("Cats"))
		body := s.request("### Task:\nGenerate a concise, 3-5 word title.\n### Chat History:\n<chat_history>\nUSER: My cat?\nASSISTANT: Ünal.\n</chat_history>")
		if _, got := s.ask(r, body); r.upstream.one(t).body != body || got != s.answer("Cats") {
			t.Errorf("answered %s; want both untouched", got)
		}
		r.wantTurns()
	})
}

// TestUserOfTheBodyInOtherDialects uses multi mode, in which the body may name the user.
func TestUserOfTheBodyInOtherDialects(t *testing.T) {
	for path, field := range map[string]string{"/v1/messages": `"metadata":{"user_id":"ana"}`, "/v1/responses": `"safety_identifier":"ana"`} {
		for _, s := range speeches {
			if s.Path != path {
				continue
			}
			r := newRig(t, func(x *setup) { x.guard.MultiUser = true })
			r.upstream.answers(s.says("Noted."))
			s.ask(r, `{`+field+`,`+s.request("My cat is called Mitzi and my dog Rex.")[1:])
			turns, err := r.store.Turns(context.Background(), memory.User(memory.DefaultNamespace, "ana"), memory.TurnQuery{})
			if err != nil || len(turns) != 2 || !strings.Contains(r.upstream.one(t).body, field) {
				t.Errorf("%s: stored %s, %v; want ana's turns, and the field forwarded", path, fmt.Sprint(turns), err)
			}
		}
	}
}
