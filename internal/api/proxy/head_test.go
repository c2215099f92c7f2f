package proxy

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// TestAStreamsHeadWaitsForItsFirstPieceButNotForLong: it goes out by itself where the
// upstream thinks.
func TestAStreamsHeadWaitsForItsFirstPieceButNotForLong(t *testing.T) {
	for name, thinks := range map[string]time.Duration{"at once": 0, "soon": headAlone / 2, "late": 2 * headAlone} {
		synctest.Test(t, func(t *testing.T) {
			w := httptest.NewRecorder()
			began := beginSoon(w, &http.Response{StatusCode: http.StatusOK, Header: http.Header{"X-Model": {"m"}}})
			time.Sleep(thinks)
			began()
			began()
			if alone := thinks > headAlone; w.Flushed != alone {
				t.Errorf("%s: the head is out %v, want %v", name, w.Flushed, alone)
			}
			time.Sleep(10 * headAlone)
			flusher{w}.write(nil)
			if got := w.Result().Header.Get("X-Model"); !w.Flushed || got != "m" {
				t.Errorf("%s: the head is out %v with %q, want it out whatever was written", name, w.Flushed, got)
			}
		})
	}
}
