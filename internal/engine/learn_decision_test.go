package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/obs"
	"github.com/loci-memory/loci/memory"
)

// decisionLine is a memory_decision line as design 3 gives it.
type decisionLine struct {
	Event     string `json:"event"`
	UserID    string `json:"user_id"`
	Length    int    `json:"input_message_length"`
	Extracted int    `json:"extracted_count"`
	Decisions []struct {
		Fact   string `json:"fact"`
		Action string `json:"action"`
		Target string `json:"target_id"`
		Reason string `json:"reason"`
	} `json:"decisions"`
}

// decisionLines returns the lines that were logged, each held to its fields.
func decisionLines(t *testing.T, log *bytes.Buffer) (lines []decisionLine) {
	t.Helper()
	for raw := range strings.Lines(log.String()) {
		if !strings.Contains(raw, "memory_decision") {
			continue
		}
		var fields map[string]json.RawMessage
		noError(t)(json.Unmarshal([]byte(raw), &fields))
		for _, own := range []string{slog.TimeKey, slog.LevelKey, slog.MessageKey} {
			delete(fields, own)
		}
		want := []string{"decisions", "event", "extracted_count", "input_message_length", "user_id"}
		if got := slices.Sorted(maps.Keys(fields)); !slices.Equal(got, want) {
			t.Errorf("fields %q, want %q", got, want)
		}
		var line decisionLine
		noError(t)(json.Unmarshal([]byte(raw), &line))
		lines = append(lines, line)
	}
	log.Reset()
	return lines
}

func TestEveryRunLogsOneDecisionLine(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		var log bytes.Buffer
		var err error
		if r.Log, err = obs.NewLogger(&log, "json", slog.LevelInfo); err != nil {
			t.Fatal(err)
		}
		r.Metrics = obs.NewMetrics()
		r.Opts.LogContent = true
		known := map[string]string{}
		say := func(text string) decisionLine {
			t.Helper()
			noError(t)(r.Lessons.Learn(ctx, r.told(t, ana, "c", text)))
			noError(t)(r.EachMemory(ctx, ana, memory.Query{}, func(m memory.Memory) { known[m.Content()] = m.ID() }))
			lines := decisionLines(t, &log)
			if len(lines) != 1 {
				t.Fatalf("%q: %d lines %+v, want one", text, len(lines), lines)
			}
			if l := lines[0]; l.Event != "memory_decision" || l.UserID != "ana" || l.Length != len(text) || l.Extracted != len(l.Decisions) || l.Decisions == nil {
				t.Errorf("%q: line %+v", text, l)
			}
			return lines[0]
		}
		for _, c := range []struct{ says, fact, action, target, reason string }{
			{"I live in Berlin.", "User lives in Berlin", "add", "", "new"},
			{"I moved to Lisbon.", "User lives in Lisbon", "replace", "User lives in Berlin", "a newer home"},
			{"As I said, I live in Lisbon.", "User lives in Lisbon", "ignore", "User lives in Lisbon", obs.ReasonRedundant},
			{"Thanks, that is all.", "", "", "", ""},
			{"Please forget that I live in Lisbon.", "", "", "", ""},
		} {
			line := say(c.says)
			if c.fact == "" {
				if len(line.Decisions) != 0 {
					t.Errorf("%q: decisions %+v, want none", c.says, line.Decisions)
				}
				continue
			}
			if len(line.Decisions) != 1 {
				t.Fatalf("%q: decisions %+v, want one", c.says, line.Decisions)
			}
			if d := line.Decisions[0]; d.Fact != c.fact || d.Action != c.action || d.Target != known[c.target] || d.Reason != c.reason {
				t.Errorf("%q: %+v, want %+v", c.says, d, c)
			}
		}
		if rates := r.Metrics.Rates(); rates.Replacement != 0.5 || rates.Dedup != 1.0/3 {
			t.Errorf("rates %+v, want one replacement to one addition and one of three that was known", rates)
		}
		// Nothing is left to learn from: no run, no line.
		job := memory.Job{ID: core.NewID(), Owner: ana, Conversation: "c"}
		if end, err := r.Lessons.Learn(ctx, job); end != "nothing" || err != nil || len(decisionLines(t, &log)) != 0 {
			t.Errorf("with nothing to learn from: %q, %v", end, err)
		}
	})
}

func TestDecisionLinesKeepSecretsAndAreNotRepeated(t *testing.T) {
	r := newRig(t, stores["inmem"])
	ctx := context.Background()
	var log bytes.Buffer
	var err error
	if r.Log, err = obs.NewLogger(&log, "json", slog.LevelInfo); err != nil {
		t.Fatal(err)
	}
	r.Opts.LogContent = true
	const secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"
	r.LLM = answering(func(p memory.Prompt) string {
		if strings.Contains(p.User, secret) {
			t.Error("the model was shown a secret")
		}
		return `{"facts": [{"text": "User's API key is ` + secret + `", "quote": "My API key is"}, {"text": "User plays the cello", "quote": "I play the cello"}]}`
	})
	job := r.told(t, ana, "c", "My API key is "+secret+" and I play the cello.")
	noError(t)(r.Lessons.Learn(ctx, job))
	if strings.Contains(log.String(), secret) {
		t.Errorf("the log has the secret:\n%s", log.String())
	}
	if lines := decisionLines(t, &log); len(lines) != 1 {
		t.Errorf("%d lines, want one", len(lines))
	}
	// The same run once more, as when its worker died before it could say so.
	turns := try(r.Store.Turns(ctx, ana, memory.TurnQuery{Conversation: "c"})).orFail(t)
	noError(t)(r.Lessons.LearnFrom(ctx, job, turns, memory.Run{ID: core.JobRunID(job.ID), Kind: "learn", Lease: &job.Lease}))
	if lines := decisionLines(t, &log); len(lines) != 0 {
		t.Errorf("the run that was there already is logged again: %+v", lines)
	}
}
