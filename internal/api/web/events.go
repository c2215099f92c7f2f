package web

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/loci-memory/loci/memory"
)

const (
	// eventInterval is how often an owner's version is checked. Stores have it in memory, so checks are cheap.
	eventInterval = time.Second

	// maxStreamTime is the maximum time of one stream. Browsers reconnect automatically, so no stream outlives
	// its session for long.
	maxStreamTime = 10 * time.Minute
)

// streamEvents streams an event "version" at the beginning and after each change of the owner's memory.
func (p *Page) streamEvents(w http.ResponseWriter, r *http.Request, v visit) error {
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Time{}) // the stream has its own deadline
	p.endOnShutdown(r)
	tick, end := time.NewTicker(eventInterval), time.NewTimer(maxStreamTime)
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
		case <-p.shutdown:
			return nil
		case <-r.Context().Done():
			return nil
		}
	}
}

// endOnShutdown ends streams when the server that serves r shuts down. Otherwise the shutdown would wait for
// the streams.
func (p *Page) endOnShutdown(r *http.Request) {
	server, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
	if !ok {
		return
	}
	p.shutdownHook.Do(func() { server.RegisterOnShutdown(sync.OnceFunc(func() { close(p.shutdown) })) })
}
