package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// upstream is a model server that answers from a script and keeps every request
// as it came.
type upstream struct {
	*httptest.Server
	mu     sync.Mutex
	got    []request         // guarded by mu, as are the next two
	script []answer          // of chats, in order; then acknowledge
	at     map[string]answer // of other paths
	pupil  *pupil            // answers what learning asks; nil: nobody does
}

// request is one request as the upstream got it.
type request struct {
	Path   string
	Header http.Header
	Body   []byte
}

// answer writes the answer to a request.
type answer func(w http.ResponseWriter, r *http.Request, body []byte)

const chatPath = "/v1/chat/completions"

func newUpstream(t *testing.T, script ...answer) *upstream {
	t.Helper()
	u := &upstream{script: script, at: map[string]answer{}}
	u.Server = httptest.NewServer(u)
	t.Cleanup(u.Close)
	return u
}

// setting is how a server is told of it.
func (u *upstream) setting() string { return "LOCI_UPSTREAM_URL=" + u.URL + "/v1" }

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // whoever asked is gone
	}
	u.next(request{r.URL.Path, r.Header.Clone(), body})(w, r, body)
}

// next keeps a request and returns its answer.
func (u *upstream) next(r request) answer {
	if u.pupil != nil && r.Path == chatPath && modelOf(r.Body) == pupilModel {
		return u.pupil.next(r)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.got = append(u.got, r)
	if a, ok := u.at[r.Path]; ok {
		return a
	}
	if r.Path != chatPath {
		return replies(http.StatusNotFound, nil, `{"error":{"message":"no such path"}}`)
	}
	if len(u.script) == 0 {
		return acknowledge
	}
	a := u.script[0]
	u.script = u.script[1:]
	return a
}

// requests returns what came in for a path, in order.
func (u *upstream) requests(path string) []request {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(u.got), func(r request) bool { return r.Path != path })
}

// last returns the newest chat that came in.
func (u *upstream) last(t *testing.T) request {
	t.Helper()
	chats := u.requests(chatPath)
	if len(chats) == 0 {
		t.Fatal("the upstream was not asked")
	}
	return chats[len(chats)-1]
}

// replies answers with these very bytes.
func replies(status int, header http.Header, body string) answer {
	return func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		w.Header().Set("Content-Type", "application/json")
		for name, values := range header {
			w.Header()[name] = values
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// says answers with a text.
func says(text string) answer {
	return replies(http.StatusOK, nil, fmt.Sprintf(
		`{"id":"chatcmpl-7","object":"chat.completion","created":1700000000,"model":"scripted","choices":[{"index":0,"message":{"role":"assistant","content":%s},"finish_reason":"stop"}],"usage":{"prompt_tokens":11,"completion_tokens":3,"total_tokens":14}}`,
		quote(text)))
}

// calls answers with a call of a tool.
func calls(id, name, arguments string) answer {
	return replies(http.StatusOK, nil, fmt.Sprintf(
		`{"id":"chatcmpl-7","object":"chat.completion","created":1700000000,"model":"scripted","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":%s,"type":"function","function":{"name":%s,"arguments":%s}}]},"finish_reason":"tool_calls"}]}`,
		quote(id), quote(name), quote(arguments)))
}

// acknowledge answers what was said last, the same for the same words, and as a
// stream where one is asked for.
func acknowledge(w http.ResponseWriter, r *http.Request, body []byte) {
	var asked struct {
		Stream   bool
		Messages []struct{ Content string }
	}
	if err := json.Unmarshal(body, &asked); err != nil || len(asked.Messages) == 0 {
		replies(http.StatusBadRequest, nil, `{"error":{"message":"no messages"}}`)(w, r, body)
		return
	}
	text := acknowledged(asked.Messages[len(asked.Messages)-1].Content)
	if !asked.Stream {
		says(text)(w, r, body)
		return
	}
	words := make(chan string, 100)
	for _, word := range strings.SplitAfter(text, " ") {
		words <- word
	}
	close(words)
	streams(words, nil)(w, r, body)
}

func acknowledged(said string) string { return "You said: " + said }

// streams answers with each word as it comes, and with the end of the stream when
// there are no more. gone, if any, is closed when the one who asked left before.
func streams(words <-chan string, gone chan<- struct{}) answer {
	return func(w http.ResponseWriter, r *http.Request, _ []byte) {
		w.Header().Set("Content-Type", "text/event-stream")
		flush := w.(http.Flusher).Flush
		for {
			select {
			case word, more := <-words:
				if !more {
					_, _ = io.WriteString(w, chunk(`{}`, `"stop"`)+"data: [DONE]\n\n")
					return
				}
				_, _ = io.WriteString(w, chunk(`{"role":"assistant","content":`+quote(word)+`}`, "null"))
				flush()
			case <-r.Context().Done():
				if gone != nil {
					close(gone)
				}
				return
			}
		}
	}
}

func chunk(delta, finish string) string {
	return `data: {"id":"chatcmpl-7","object":"chat.completion.chunk","created":1700000000,"model":"scripted","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}` + "\n\n"
}

// quote writes s as JSON, without the escapes that JSON does not need.
func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err) // strings always encode
	}
	return strings.TrimSpace(b.String())
}
