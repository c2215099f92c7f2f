package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/loci-memory/loci/memory"
)

// saying is a client of a server that answers every message with a status and a body.
func saying(t *testing.T, status int, body string) *Client {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Loci-Key") != "k" || r.Header.Get("X-Loci-User") != "ana" || r.Header.Get("Accept") != "text/event-stream" {
			t.Errorf("the headers are %v", r.Header)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return New(s.URL, Options{Key: "k", User: "ana"})
}

func TestAReplyIsHeardAsItIsWritten(t *testing.T) {
	const begun = "event: memory\ndata: {\"trace\":\"t\",\"hits\":[{\"id\":\"f\"}]}\n\n: a comment\n\nevent: delta\ndata: {\"content\":\"Hel\"}\n\nevent: delta\r\ndata:{\"content\":\"lo\"}\r\n\r\nevent: later\ndata: 5\n\n"
	for name, c := range map[string]struct {
		status int
		body   string
		want   memory.Code // "" for none
		heard  string
	}{
		"whole":       {200, begun + "event: done\ndata: {\"model\":\"m\",\"answer\":{\"content\":\"Hello\"}}\n\n", "", "tHello"},
		"its error":   {200, begun + "event: error\ndata: {\"title\":\"No\",\"status\":503,\"detail\":\"down\",\"code\":\"unavailable\",\"question\":{\"id\":\"q\"}}\n\n", memory.Unavailable, "tHello"},
		"cut off":     {200, begun, memory.Unavailable, "tHello"},
		"no reply":    {404, `{"title":"Not Found","status":404,"detail":"there is no chat","code":"not_found"}`, memory.NotFound, ""},
		"of somebody": {502, "<html>", memory.Unavailable, ""},
	} {
		t.Run(name, func(t *testing.T) {
			heard := ""
			done, err := saying(t, c.status, c.body).Say(context.Background(), "a chat", SayRequest{Content: "Hi"}, ChatListener{
				Memory: func(m ChatMemory) { heard += m.Trace }, Delta: func(d ChatDelta) { heard += d.Content },
			})
			if heard != c.heard || (c.want == "") != (err == nil) || c.want != "" && !errors.Is(err, c.want) {
				t.Errorf("heard %q, %v; want %q, %s", heard, err, c.heard, c.want)
			}
			if c.want == "" && (done.Model != "m" || done.Answer == nil) || name == "its error" && done.Question == nil {
				t.Errorf("done is %+v", done)
			}
		})
	}
}
