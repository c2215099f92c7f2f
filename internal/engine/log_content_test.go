package engine

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/obs"
	"github.com/loci-memory/loci/memory"
)

// logged learns from one message, with a model that quotes it wherever it can, and returns
// the log and the text of the error.
func logged(t *testing.T, r *rig, said string, reply func(memory.Prompt) string) (log string, failed error) {
	t.Helper()
	var out bytes.Buffer
	var err error
	if r.Log, err = obs.NewLogger(&out, "json", slog.LevelDebug); err != nil {
		t.Fatal(err)
	}
	if reply != nil {
		r.LLM = answering(reply)
	}
	_, failed = r.Lessons.Learn(context.Background(), r.told(t, ana, "c", said))
	return out.String(), failed
}

func TestLogHasNoLearnedText(t *testing.T) {
	const secret = "marzipan"
	said := "I love " + secret + " and I moved to Lisbon."
	for name, reply := range map[string]func(memory.Prompt) string{
		"rules": nil,
		"facts with reasons": func(p memory.Prompt) string {
			if strings.Contains(p.Name, "reconcile") {
				return `{"decisions": [{"new": 0, "action": "ADD", "reason": "says marzipan"}]}`
			}
			return `{"facts": [{"text": "User loves marzipan", "quote": "I love marzipan"}]}`
		},
		"no facts":   func(memory.Prompt) string { return "{marzipan: the user" },
		"cut off":    func(memory.Prompt) string { return "<think>The user loves marzipan" },
		"an essay":   func(memory.Prompt) string { return "The user loves marzipan.\nAnd so on.\nIt is marzipan." },
		"half facts": func(memory.Prompt) string { return `{"facts": [{"text": "User loves marz` },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, stores["inmem"])
			r.note(t, ana, "User loves marzipan cake")
			log, failed := logged(t, r, said, reply)
			if strings.Contains(log, secret) || strings.Contains(log, "Lisbon") {
				t.Errorf("the log has what was learned:\n%s", log)
			}
			if failed != nil && strings.Contains(failed.Error(), "marz") {
				t.Errorf("the error, which is logged, quotes the model: %v", failed)
			}
			if failed == nil && !strings.Contains(log, "memory_decision") {
				t.Errorf("no decision line in\n%s", log)
			}
		})
	}
}

// TestLogShowsTextWhenAsked: with the option the decision line has the words, and a reply
// that could not be read is shown.
func TestLogShowsTextWhenAsked(t *testing.T) {
	r := newRig(t, stores["inmem"])
	r.Opts.LogContent = true
	if log, err := logged(t, r, "I moved to Lisbon.", nil); err != nil || !strings.Contains(log, "User lives in Lisbon") {
		t.Errorf("%v; the decision line lacks the fact:\n%s", err, log)
	}
	if log, _ := logged(t, r, "I moved to Porto.", func(memory.Prompt) string { return "<think>Porto it is" }); !strings.Contains(log, "Porto it is") {
		t.Errorf("the log lacks the reply:\n%s", log)
	}
}
