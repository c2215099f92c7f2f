package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/memory"
)

// question is a chat completion that the playground asks for.
type question struct {
	Model        string                     `json:"model"`
	Messages     []client.CompletionMessage `json:"messages"`
	Stream       bool                       `json:"stream"`
	Conversation string                     `json:"memory_id,omitempty"`
	Mode         string                     `json:"memory_mode,omitempty"`
	temporary    bool
}

// maxHistory is how many messages of a temporary chat its page may send back.
const maxHistory = 200

// decode reads the messages of a temporary chat.
func decode(history string) ([]client.CompletionMessage, error) {
	if history == "" {
		return nil, nil
	}
	var out []client.CompletionMessage
	if err := json.Unmarshal([]byte(history), &out); err != nil || len(out) > maxHistory {
		return nil, memory.Errorf(memory.Invalid, "what was said so far cannot be read")
	}
	for _, m := range out {
		if m.Role != memory.RoleUser && m.Role != memory.RoleAssistant {
			return nil, memory.Errorf(memory.Invalid, "what was said so far cannot be read")
		}
	}
	return out, nil
}

func encode(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings always encode
	}
	return string(data)
}

// A chat of this name leaves nothing at all, not even the mark that something was
// said in it: it never goes on with memory.
const (
	headerChat  = "X-OpenWebUI-Chat-Id"
	chatUnnoted = "local:page"
)

// ask sends a question through the chat API, as whom the page is shown to.
func (p *Page) ask(w http.ResponseWriter, r *http.Request, q question) {
	body := encode(q)
	to, err := http.NewRequestWithContext(r.Context(), http.MethodPost, "/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		panic(err) // the path is our own
	}
	to.Header.Set("Content-Type", "application/json")
	if q.temporary {
		to.Header.Set(headerChat, chatUnnoted)
	}
	p.Chat.ServeHTTP(w, to)
}

// answer asks and waits for the whole answer. wrong says why there is none.
func (p *Page) answer(r *http.Request, q question) (text, wrong string) {
	a := fetch(func(w http.ResponseWriter) { p.ask(w, r, q) })
	if said, err := chatapi.Completions.ReadAnswer(a.body.Bytes()); err == nil && a.status == http.StatusOK {
		return said.Text, ""
	}
	return "", a.problem()
}

// modelsWait is how long a page waits for the list of the upstream's models.
const modelsWait = 3 * time.Second

// models lists what can be talked to, Loci's own model last, and says why the upstream's are not
// among them.
func (p *Page) models(r *http.Request) (names []string, unlisted string) {
	ctx, cancel := context.WithTimeout(r.Context(), modelsWait)
	defer cancel()
	to, err := http.NewRequestWithContext(ctx, http.MethodGet, "/v1/models", nil)
	if err != nil {
		panic(err) // the path is our own
	}
	a := fetch(func(w http.ResponseWriter) { p.Chat.ServeHTTP(w, to) })
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if a.status != http.StatusOK || json.Unmarshal(a.body.Bytes(), &list) != nil {
		return []string{memory.RecallModel}, a.problem()
	}
	for _, m := range list.Data {
		if m.ID != "" && m.ID != memory.RecallModel {
			names = append(names, m.ID)
		}
	}
	return append(names, memory.RecallModel), ""
}

// fetched is an answer that was waited for.
type fetched struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// fetch waits for what a handler answers.
func fetch(serve func(http.ResponseWriter)) (f *fetched) {
	f = &fetched{header: http.Header{}}
	defer func() {
		switch cut := recover(); cut {
		case nil:
		case http.ErrAbortHandler: // the answer was cut off
			f.status = http.StatusBadGateway
			f.body.Reset()
		default:
			panic(cut)
		}
	}()
	serve(f)
	return f
}

// maxFetched is how much of an answer is kept.
const maxFetched = 8 << 20

// Header, WriteHeader and Write are http.ResponseWriter's.
func (f *fetched) Header() http.Header { return f.header }

// WriteHeader keeps the first status.
func (f *fetched) WriteHeader(status int) {
	if f.status == 0 {
		f.status = status
	}
}

func (f *fetched) Write(p []byte) (int, error) {
	f.WriteHeader(http.StatusOK)
	if f.body.Len() < maxFetched {
		f.body.Write(p)
	}
	return len(p), nil
}

// problem says what an answer that is none says of itself.
func (f *fetched) problem() string {
	return cmp.Or(clip(400, chatapi.ErrorMessage(f.body.Bytes())), "The model did not answer.")
}

// streamed passes an answer on as it comes. Of its headers it keeps those that say
// what it is: others are between Loci and the upstream.
type streamed struct {
	to     http.ResponseWriter
	header http.Header
	begun  bool
}

// Header is what the answer says of itself, most of which ends here.
func (s *streamed) Header() http.Header { return s.header }

// WriteHeader begins the answer.
func (s *streamed) WriteHeader(status int) {
	if s.begun {
		return
	}
	s.begun = true
	for _, name := range []string{"Content-Type", "Content-Encoding"} {
		if v := s.header.Get(name); v != "" {
			s.to.Header().Set(name, v)
		}
	}
	s.to.WriteHeader(status)
}

func (s *streamed) Write(p []byte) (int, error) {
	s.WriteHeader(http.StatusOK)
	return s.to.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (s *streamed) Unwrap() http.ResponseWriter { return s.to }
