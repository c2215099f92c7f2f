package models

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/memory"
)

func TestLocalModelLearnsBetweenChats(t *testing.T) {
	asked := make(chan struct{}, 9)
	var hangs atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/models") {
			_, _ = io.WriteString(w, `{"data":[{"id":"owl-1b"}]}`)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		asked <- struct{}{}
		if hangs.Load() {
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"yes"}}]}`)
	}))
	t.Cleanup(server.Close)
	for name, upstream := range map[string]string{"here": server.URL + "/v1", "elsewhere": "http://192.0.2.1/v1"} {
		hangs.Store(false)
		l, err := ChooseLearner(t.Context(), load(t, map[string]string{"learn.url": server.URL + "/v1", "learn.model": "owl-1b", "upstream.url": upstream}), nil)
		if err != nil {
			t.Fatal(err)
		}
		ask := func() (gaveWay bool) {
			t.Helper()
			_, err := l.Complete(t.Context(), memory.Prompt{User: "Hi"})
			var off *jobs.PutOff
			if gaveWay = errors.As(err, &off) && off.Until.After(time.Now()) && errors.Is(err, memory.Unavailable); err != nil && !gaveWay {
				t.Errorf("%s: %v", name, err)
			}
			return gaveWay
		}
		if ask() || !strings.Contains(l.Status().Why, "its last reply took") {
			t.Errorf("%s: no chat is under way, and it learns: %+v", name, l.Status())
		}
		end := l.ChatBegins()
		if ask() != (name == "here") {
			t.Errorf("%s: during a chat", name)
		}
		end()
		if name == "elsewhere" {
			continue
		}
		hangs.Store(true)
		for len(asked) > 0 {
			<-asked
		}
		go func() { <-asked; l.ChatBegins() }()
		if !ask() {
			t.Error("a chat that begins does not end the lesson")
		}
		hangs.Store(false)
		l.yieldingSince = time.Now().Add(-2 * maxYieldTime)
		if ask() || l.yieldingSince.IsZero() {
			t.Error("after consecutive chats it must learn once, and then yield again")
		}
		l.activeChats = 0
		if ask() || !l.yieldingSince.IsZero() || len(l.cancelJobs) > 0 {
			t.Error("a reply that no chat met changes nothing")
		}
	}
}
