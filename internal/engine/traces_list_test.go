package engine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

func TestTracesAreListedFromWhatWaitsAndWhatIsWritten(t *testing.T) {
	r := newRig(t, stores["inmem"])
	trace := func(id, conversation string, after time.Duration) memory.Trace {
		return memory.Trace{ID: id, Owner: ana, Conversation: conversation, Door: "chat", At: memtest.Epoch.Add(after)}
	}
	another := trace("another's", "here", 9*time.Second)
	another.Owner = memory.User("default", "ben")
	written := []memory.Trace{trace("old", "here", time.Second), trace("written", "here", 3*time.Second), trace("elsewhere", "there", 4*time.Second), another}
	noError(t)(r.Store.SaveTraces(t.Context(), 10, written...))
	degraded := trace("written", "here", 3*time.Second)
	degraded.Degraded = []string{"vector: slow"}
	r.Traces.Add(trace("new", "here", 5*time.Second))
	r.Traces.Add(degraded)
	for _, c := range []struct {
		q    memory.TraceQuery
		want string
	}{
		{memory.TraceQuery{}, "new elsewhere written old"},
		{memory.TraceQuery{Conversation: "here"}, "new written old"},
		{memory.TraceQuery{Conversation: "here", Limit: 2}, "new written"},
		{memory.TraceQuery{Door: "search"}, ""},
	} {
		found := try(r.Traces.Traces(t.Context(), ana, c.q)).orFail(t)
		var ids []string
		for _, one := range found {
			ids = append(ids, one.ID)
		}
		if got := strings.Join(ids, " "); got != c.want {
			t.Errorf("traces of %+v are %q, want %q", c.q, got, c.want)
		}
		if i := slices.Index(ids, "written"); i >= 0 && len(found[i].Degraded) == 0 {
			t.Errorf("of %+v the trace as it was written hides what was added to it", c.q)
		}
	}
}
