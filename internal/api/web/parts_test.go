package web

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

func TestGrowthCountsWhatWasActiveAtTheEndOfEachDay(t *testing.T) {
	r := newRig(t, "")
	r.fact("one")
	gone := r.fact("two")
	r.clock.Advance(48 * time.Hour)
	if _, err := r.engine.Curate.Forget(t.Context(), memtest.Ana, []string{gone.ID}, "no more", memory.Author{Kind: memory.ByPerson}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // what was counted is not counted again
		s, err := r.page.journalCounts(t.Context(), memtest.Ana, false)
		days, active := s.growth(midnight(r.clock.Now().UTC()))
		if err != nil || len(days) != 3 || active[0] != 2 || active[1] != 2 || active[2] != 1 {
			t.Fatalf("growth is %v on %v, %v", active, days, err)
		}
	}
}

func TestAgesAreInTheirLargestUnit(t *testing.T) {
	now := memtest.Epoch
	for ago, want := range map[time.Duration]string{
		-time.Hour: "in the future", 0: "now", time.Minute: "1 min ago", 3 * time.Hour: "3 h ago", 24 * time.Hour: "1 day ago", 59 * 24 * time.Hour: "59 days ago",
		60 * 24 * time.Hour: "2 months ago", 800 * 24 * time.Hour: "2 years ago",
	} {
		if got := formatAge(now, now.Add(-ago)); got != want {
			t.Errorf("%s ago is told as %q, want %q", ago, got, want)
		}
	}
	for n, want := range map[int]string{0: "0 memories", 1: "1 memory", 12345: "12\u202f345 memories"} {
		if got := plural(n, "memory"); got != want {
			t.Errorf("plural(%d) = %q, want %q", n, got, want)
		}
	}
	if got := plural(4, "day"); got != "4 days" {
		t.Errorf("plural of day is %q", got)
	}
}

// listener reads a stream's lines; everything that was written is there once the
// writer waits.
type listener struct {
	*httptest.ResponseRecorder
	flushed int
}

func (l *listener) Flush() { l.flushed++ }

func TestEventsTellOfEachChangeAndEndWithTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w := &listener{ResponseRecorder: httptest.NewRecorder()}
		server := &http.Server{Handler: r.handler}
		req := httptest.NewRequest(http.MethodGet, "http://localhost/events", nil).WithContext(context.WithValue(ctx, http.ServerContextKey, server))
		req.RemoteAddr = "127.0.0.1:1"
		req.Header.Set("X-Loci-User", "ana")
		ended := make(chan struct{})
		go func() { defer close(ended); r.handler.ServeHTTP(w, req) }()
		versions := func() int {
			synctest.Wait()
			n := 0
			lines := bufio.NewScanner(strings.NewReader(w.Body.String()))
			for lines.Scan() {
				if lines.Text() == "event: version" {
					n++
				}
			}
			return n
		}
		if n := versions(); n != 1 || w.Header().Get("Content-Type") != "text/event-stream" || w.flushed != 1 {
			t.Fatalf("at first %d versions, %d flushed, %v", n, w.flushed, w.Header())
		}
		time.Sleep(5 * eventInterval)
		if n := versions(); n != 1 {
			t.Errorf("without a change there are %d versions", n)
		}
		r.fact("User likes figs")
		time.Sleep(2 * eventInterval)
		if n := versions(); n != 2 {
			t.Errorf("after a change there are %d versions", n)
		}
		if err := server.Shutdown(ctx); err != nil {
			t.Fatal(err)
		}
		<-ended
	})
}
