package web

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/loci-memory/loci/memory"
)

const (
	// eventsEvery is how often an owner's version is looked at; stores answer that
	// from memory.
	eventsEvery = time.Second

	// eventsFor is how long one stream lasts. Browsers open the next by themselves,
	// so that none outlives its session for long.
	eventsFor = 10 * time.Minute
)

// events is a stream that says when an owner's memory has changed: an event
// "version" with the version, once at the beginning and after each change.
func (p *Page) events(w http.ResponseWriter, r *http.Request, v visit) error {
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Time{}) // the stream has a deadline of its own
	p.endWith(r)
	tick, end := time.NewTicker(eventsEvery), time.NewTimer(eventsFor)
	defer tick.Stop()
	defer end.Stop()
	for last := int64(-1); ; {
		versions, err := p.engine.Store.Versions(r.Context(), []memory.Owner{v.owner})
		if err == nil && versions[0] != last {
			last = versions[0]
			if _, err := fmt.Fprintf(w, "event: version\ndata: %d\n\n", last); err != nil {
				return nil
			}
			if control.Flush() != nil {
				return nil
			}
		}
		select {
		case <-tick.C:
		case <-end.C:
			return nil
		case <-p.done:
			return nil
		case <-r.Context().Done():
			return nil
		}
	}
}

// endWith lets streams end when the server that answers r shuts down, which would
// wait for them otherwise.
func (p *Page) endWith(r *http.Request) {
	server, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
	if !ok {
		return
	}
	p.ending.Do(func() { server.RegisterOnShutdown(sync.OnceFunc(func() { close(p.done) })) })
}
