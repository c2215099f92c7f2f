package proxy

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestRequestsBuiltFromSources sends requests that were built from the public sources of front ends;
// testdata/frontends.jsonl names repository, path and commit of each. Only text by the person may be stored, and
// requests by the front end itself get no memory.
func TestRequestsBuiltFromSources(t *testing.T) {
	data := try(os.ReadFile("testdata/frontends.jsonl")).orFail(t)
	for line := range bytes.Lines(data) {
		var built struct {
			Client, What, Source string
			Said                 []string // the user's turns, none for a request by the client itself
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
