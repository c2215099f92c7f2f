package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/memory"
)

// recorded is a model that writes what it was recorded to write for a turn, and says of
// each new fact which known one it takes the place of.
type recorded struct {
	facts    []recordedFact
	replaces map[string]string // new fact to the one that it replaces
}

type recordedFact struct {
	Text     string `json:"text"`
	Quote    string `json:"quote"`
	About    string `json:"subject"`
	Replaces string `json:"-"`
}

var promptLine = regexp.MustCompile(`(?m)^\[(\d+)\] (?:\(\S+\) )?(.+)$`)

func (m *recorded) Complete(_ context.Context, p memory.Prompt) (memory.Reply, error) {
	var reply any
	if known, fresh, ok := strings.Cut(p.User, "\nNew:\n"); ok {
		var decisions []map[string]any
		for _, n := range promptLine.FindAllStringSubmatch(fresh, -1) {
			d := map[string]any{"new": n[1], "event": "ADD"}
			for _, k := range promptLine.FindAllStringSubmatch(known, -1) {
				if m.replaces[n[2]] == k[2] && k[2] != "" {
					d = map[string]any{"new": n[1], "event": "UPDATE", "id": k[1]}
				}
			}
			decisions = append(decisions, d)
		}
		reply = map[string]any{"decisions": decisions}
	} else {
		reply = map[string]any{"facts": m.facts}
	}
	b, err := json.Marshal(reply)
	return memory.Reply{Text: string(b), Model: "recorded"}, err
}

type recordedTurn struct {
	Role, Text string
	Facts      []struct{ Text, Quote, About, Replaces string }
}

// replay says the turns of a conversation to an engine whose model was recorded, and
// returns the status of each fact by its words.
func replay(t *testing.T, r *rig, name string, turns []recordedTurn) map[string]memory.Status {
	t.Helper()
	ctx := context.Background()
	model := &recorded{replaces: map[string]string{}}
	r.LLM = model
	var before []exchange.Said
	for _, turn := range turns {
		if turn.Role == "assistant" {
			before = append(before, exchange.Said{Role: memory.RoleAssistant, Content: turn.Text})
			continue
		}
		model.facts = nil
		for _, f := range turn.Facts {
			model.facts = append(model.facts, recordedFact{Text: f.Text, Quote: f.Quote, About: f.About})
			model.replaces[f.Text] = f.Replaces
		}
		if _, err := r.Exchange.Ingest(ctx, ana, exchange.Talk{Conversation: name, Infer: true, Messages: append(before, exchange.Said{Role: memory.RoleUser, Content: turn.Text})}); err != nil {
			t.Fatal(err)
		}
		before = nil
		if err := r.work(ctx); err != nil {
			t.Fatal(err)
		}
		r.clock.Advance(time.Minute)
	}
	is := map[string]memory.Status{}
	all := memory.Query{Statuses: []memory.Status{memory.Active, memory.Pending, memory.Superseded, memory.Retired, memory.Rejected}}
	if err := r.Everything(ctx, ana, all, func(m memory.Memory) { is[m.Content()] = m.Fact.Status }); err != nil {
		t.Fatal(err)
	}
	return is
}

// TestCorrectionsWin replays conversations in which people correct themselves: the new
// fact is active, and the one that the model says it replaces is not.
func TestCorrectionsWin(t *testing.T) {
	b, err := os.ReadFile("../learn/testdata/natural.json")
	if err != nil {
		t.Fatal(err)
	}
	var data struct {
		Conversations []struct {
			ID, Now string
			Turns   []recordedTurn
		}
	}
	if err := json.Unmarshal(b, &data); err != nil {
		t.Fatal(err)
	}
	won, all := 0, 0
	for _, c := range data.Conversations {
		r := newRig(t, stores["inmem"])
		now, err := time.Parse(time.DateOnly, c.Now)
		if err != nil {
			t.Fatal(err)
		}
		r.clock.Advance(now.Add(9 * time.Hour).Sub(r.Time()))
		is := replay(t, r, c.ID, c.Turns)
		replaced := map[string]bool{}
		for _, turn := range c.Turns {
			for _, f := range turn.Facts {
				replaced[f.Replaces] = true
			}
		}
		for _, turn := range c.Turns {
			for _, f := range turn.Facts {
				if f.Replaces == "" {
					continue
				}
				all++
				if (is[f.Text] == memory.Active || replaced[f.Text]) && is[f.Replaces] != memory.Active {
					won++
				} else {
					t.Logf("%s: %q is %q, %q is %q", c.ID, f.Text, is[f.Text], f.Replaces, is[f.Replaces])
				}
			}
		}
	}
	t.Logf("%d of %d corrections win", won, all)
	if won*20 < all*19 {
		t.Errorf("%d of %d corrections win, want 95 %%", won, all)
	}
}

func TestPlainCorrectionEndsWhatItCorrects(t *testing.T) {
	r := newRig(t, stores["inmem"])
	r.clock.Advance(time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC).Sub(r.Time()))
	turn := func(text, quote, fact, replaces string) recordedTurn {
		var out recordedTurn
		b := fmt.Sprintf(`{"Role":"user","Text":%q,"Facts":[{"Text":%q,"Quote":%q,"About":"user","Replaces":%q}]}`, text, fact, quote, replaces)
		if err := json.Unmarshal([]byte(b), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	is := replay(t, r, "c", []recordedTurn{
		turn("im at uni n work weekends at a bakery", "work weekends at a bakery", "User works weekends at a bakery", ""),
		turn("nvm quit the bakery today!!", "quit the bakery today", "User quit the bakery on 2026-11-23", "User works weekends at a bakery"),
	})
	if is["User works weekends at a bakery"] == memory.Active || is["User quit the bakery on 2026-11-23"] != memory.Active {
		t.Errorf("facts %v, want the job ended and its end active", is)
	}
}
