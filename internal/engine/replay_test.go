package engine

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

type replayFact struct{ Text, Quote, About string }

type replayTurn struct {
	Role, Text, Turn string
	Facts            []replayFact
}

// replayModel replies what the data say of the turns that it is shown.
type replayModel struct{ turns []replayTurn }

func flat(s string) string { return strings.Join(strings.Fields(s), " ") }

func (m *replayModel) Complete(_ context.Context, p memory.Prompt) (memory.Reply, error) {
	known, turns, _ := strings.Cut(p.User, "The turns:")
	known, _, _ = strings.Cut(known, "Before,")
	turns = flat(turns)
	ops := []map[string]any{}
	for _, t := range m.turns {
		if t.Role == "assistant" || !strings.Contains(turns, flat(t.Text)) {
			continue
		}
		for _, f := range t.Facts {
			op := map[string]any{"op": "add", "ids": []string{}, "text": f.Text, "quote": f.Quote, "about": f.About, "lasting": true}
			for line := range strings.Lines(known) {
				id, fact, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "["), "] ")
				if fact == f.Text {
					op["op"], op["ids"] = "same", []string{id}
				}
			}
			ops = append(ops, op)
		}
	}
	reply, _ := json.Marshal(map[string]any{"ops": ops})
	return memory.Reply{Text: string(reply), Model: "ops"}, nil
}

// TestTrueRepliesAreKept replays chats with what a strong model learned from them
// (internal/learn/testdata/natural.json and the shared data/real-model) through whole lessons.
func TestTrueRepliesAreKept(t *testing.T) {
	type chats struct {
		Conversations []struct {
			ID, Now string
			Turns   []replayTurn
		}
	}
	for file, least := range map[string]int{"../learn/testdata/natural.json": 122, os.Getenv("LOCI_SHARED") + "/data/real-model/dev.json": 51} {
		b, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) && os.Getenv("LOCI_SHARED") == "" {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var data chats
		noError(t)(json.Unmarshal(b, &data))
		all, kept, byRules := 0, 0, 0
		for _, c := range data.Conversations {
			at, err := time.Parse(time.DateOnly, c.Now)
			if err != nil {
				at = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
			}
			known := replayed(t, at.Add(9*time.Hour), c.Turns)
			for _, f := range known {
				if strings.HasPrefix(f.Model, "rule") {
					byRules++
				}
			}
			for _, turn := range c.Turns {
				for _, f := range turn.Facts {
					all++
					if slices.ContainsFunc(known, func(k memory.Fact) bool { return text.Hash(k.Content) == text.Hash(f.Text) }) {
						kept++
					}
				}
			}
		}
		t.Logf("%s: %d of %d facts are active at the end, and %d of the rules", file, kept, all, byRules)
		if kept < least || byRules > 0 {
			t.Errorf("%s: want %d at least, and none of the rules", file, least)
		}
	}
}

// replayed tells a chat, lets it rest, and returns the facts that are active.
func replayed(t *testing.T, at time.Time, turns []replayTurn) (known []memory.Fact) {
	t.Helper()
	r := newRig(t, stores["inmem"])
	r.clock.Advance(at.Sub(r.Time()))
	for i := range turns { // the shared data have the user's messages alone
		turns[i].Text = strings.ReplaceAll(turns[i].Text+turns[i].Turn, "\n", " ")
	}
	r.LLM, r.Opts.LearnModel, r.Opts.LearnByRules = &replayModel{turns: turns}, "replay", true
	r.Opts.Learn.MessagesPerLesson, r.Opts.Learn.IdleTime, r.Opts.Learn.ContextMessages = 4, 2*time.Minute, 8
	s := &scene{rig: r, chats: map[string][]chatMessage{}, names: map[string]string{"ana": "c"}}
	for i, turn := range turns {
		if turn.Role == "assistant" {
			continue
		}
		if s.reply = "Sure."; i+1 < len(turns) && turns[i+1].Role == "assistant" {
			s.reply = turns[i+1].Text
		}
		noError(t)(s.step("user ana: " + turn.Text))
		r.clock.Advance(10 * time.Second)
	}
	noError(t)(s.pass("+5m"))
	page := try(r.Store.List(context.Background(), ana, memory.Query{Kinds: []memory.Kind{memory.KindFact}, Limit: 500})).orFail(t)
	for _, m := range page.Memories {
		known = append(known, *m.Fact)
	}
	return known
}
