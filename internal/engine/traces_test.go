package engine

import (
	"reflect"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/memory"
)

// An answer and its trace say what words of the question were taken for, in words of what was shown; of
// what is asked in confidence, or is not told, the trace has none.
func TestAnswersSayWhatMisspeltWordsWereTakenFor(t *testing.T) {
	r := newRig(t, stores["inmem"])
	r.note(t, ana, "User is allergic to penicillin")
	want := []memory.Misspelt{{Word: "alergic", Meant: []string{"allergic"}}}
	for question, traced := range map[string]bool{
		"What am I alergic to?":                       true,
		"What am I allergic to?":                      false,
		"Do not remember this: what am I alergic to?": false,
	} {
		found, err := r.Retrieve.Recall(t.Context(), retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: question})
		if err != nil || len(found.Hits) != 1 {
			t.Fatalf("%s: %v, %v", question, found.Hits, err)
		}
		trace, err := r.Traces.Trace(t.Context(), ana, found.TraceID)
		if err != nil || strings.Contains(question, "alergic") != reflect.DeepEqual(found.Misspelt, want) || traced != reflect.DeepEqual(trace.Misspelt, want) {
			t.Errorf("%s: the answer says %v and the trace %v, %v", question, found.Misspelt, trace.Misspelt, err)
		}
	}
}
