package proxy

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestRequestsBuiltFromSources sends requests of front ends, built from their public sources
// and not recorded: testdata/frontends.jsonl names repository, path and commit of each. Of the
// user only what the person wrote is stored; a call of the client's own leaves nothing and
// gets no memory.
func TestRequestsBuiltFromSources(t *testing.T) {
	data := try(os.ReadFile("testdata/frontends.jsonl")).orFail(t)
	for line := range bytes.Lines(data) {
		var built struct {
			Client, What, Source string
			Said                 []string // the user's turns, none for a call of the client's own
			Requests             []json.RawMessage
		}
		noError(t)(json.Unmarshal(line, &built))
		t.Run(built.Client+"/"+built.What, func(t *testing.T) {
			r := newRig(t)
			r.upstream.answers(says("All right."))
			r.know("The user lives in Lisbon.")
			for _, body := range built.Requests {
				r.chat(string(body))
			}
			sent := r.upstream.last().body
			r.engine.Close()
			if len(built.Said) == 0 {
				if got := r.turns(); len(got) > 0 || strings.Contains(sent, "Lisbon") {
					t.Errorf("%s: a call of the client's own: stored %q, sent %s", built.Source, got, sent)
				}
				return
			}
			if got := slices.Concat(r.userTurns()...); !slices.Equal(got, built.Said) || !strings.Contains(sent, "Lisbon") {
				t.Errorf("%s:\nstored %q\nwant   %q\nsent   %s", built.Source, got, built.Said, sent)
			}
		})
	}
}
