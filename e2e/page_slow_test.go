package e2e

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
)

// between stands before a server, as a proxy does, and keeps requests waiting or answers
// them itself while it is told to.
type between struct {
	hold  atomic.Pointer[chan struct{}] // closed: requests for pages go on
	ill   atomic.Bool                   // changes are answered with 502
	asked atomic.Int64                  // for changes
}

func (w *between) before(t *testing.T, l *loci) *loci {
	t.Helper()
	to, err := url.Parse(l.url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval = -1
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/events" {
			if w.asked.Add(1); w.ill.Load() {
				rw.WriteHeader(http.StatusBadGateway)
				return
			}
		} else if held := w.hold.Load(); held != nil {
			<-*held
		}
		r.Header["X-Forwarded-For"] = nil // it stands for a slow network, and a proxy needs a key
		proxy.ServeHTTP(rw, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return &loci{url: server.URL, cmd: l.cmd, log: l.log}
}

func TestPageShowsThatTheServerTakesItsTime(t *testing.T) {
	t.Parallel()
	w := &between{}
	b := browse(t, w.before(t, serve(t, t.TempDir())), deskWidth, deskHeight)
	b.open("/")
	b.until("changes are listened to", "stream !== null && seen !== null")
	held := make(chan struct{})
	w.hold.Store(&held)
	b.press("g2")
	b.until("it is shown that the server takes its time", `document.documentElement.matches(".slow")`)
	close(held)
	b.see("h1", "Review")
	b.until("it is shown no longer", `!document.documentElement.matches(".slow")`)
}

func TestPageListensAgainOnceAProxyHasItsServerBack(t *testing.T) {
	t.Parallel()
	w := &between{}
	w.ill.Store(true)
	l := serve(t, t.TempDir())
	b := browse(t, w.before(t, l), deskWidth, deskHeight)
	b.gateway = true
	b.open("/")
	eventually(t, l, "it asks for changes", patience, func() bool { return w.asked.Load() > 0 })
	w.ill.Store(false)
	b.until("changes are listened to", "stream !== null && seen !== null")
	l.submit(t, "/memories", url.Values{"content": {"User has a heron"}})
	b.see("#results", "User has a heron")
}

func TestPlaygroundKeepsWhatWasSaidToAServerThatIsGone(t *testing.T) {
	t.Parallel()
	l := serve(t, t.TempDir())
	b := browse(t, l, deskWidth, deskHeight)
	b.open("/playground")
	b.until("changes are listened to", "stream !== null && seen !== null")
	b.lost = true
	l.stop(t)
	b.say("My dog is called Rex.")
	b.see("#toast", "The server cannot be reached.")
	if got := eval[string](b, `document.querySelector(".say textarea").value`); got != "My dog is called Rex." {
		t.Errorf("in the field is %q, want what was said", got)
	}
}

// TestPhoneShowsThatThereAreMoreFilters than fit: the last one fades out, and is whole once
// one has moved there.
func TestPhoneShowsThatThereAreMoreFilters(t *testing.T) {
	t.Parallel()
	b := browse(t, serve(t, t.TempDir()), phoneWidth, phoneHeight)
	b.open("/")
	if !eval[bool](b, `(f => f.scrollWidth > f.clientWidth && getComputedStyle(f).maskImage.includes("gradient"))(document.querySelector(".filters"))`) {
		t.Error("filters that do not fit are cut off and do not fade")
	}
	if right := eval[float64](b, `(f => { f.scrollLeft = 9999; return document.querySelector("[name=as_of]").getBoundingClientRect().right })(document.querySelector(".filters"))`); right > phoneWidth-40 {
		t.Errorf("the last filter ends at %v of %d, and fades there", right, phoneWidth)
	}
}
