package query

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/memory"
)

// Bounds of the writer's prompt ("Content Truncation Limits" of design 2): the number of items of each
// kind, and the letters of one item.
const (
	writtenHistory, historyLetters   = 10, 200
	writtenSummaries, summaryLetters = 3, 240
	writtenEntries                   = 5
	writtenSimilar, similarLetters   = 4, 200
	writtenRecent, recentLetters     = 6, 180
)

// PromptValues returns the values of the prompt in the order of design 2.
func (a Around) Assemble() prompt.Write {
	var w prompt.Write
	for _, t := range lastTurns(a.Recent, writtenHistory) {
		w.History = append(w.History, saidLine(t, historyLetters))
	}
	for _, s := range a.Summaries[:min(writtenSummaries, len(a.Summaries))] {
		w.Summaries = append(w.Summaries, "- "+letters(s.Text, summaryLetters))
	}
	for _, p := range a.Profile[:min(writtenEntries, len(a.Profile))] {
		w.Facts = append(w.Facts, oneLine(p.Key)+": "+oneLine(p.Value))
	}
	for _, h := range a.Similar[:min(writtenSimilar, len(a.Similar))] {
		line := fmt.Sprintf("[%.2f] %s", retrieve.Similarity(h), saidLine(*h.Memory.Turn, similarLetters))
		for _, f := range h.Now { // current facts that replaced the turn's facts
			line += strings.TrimSuffix(" [no longer so: "+letters(f.Content, similarLetters), ": ") + "]"
		}
		w.Similar = append(w.Similar, line)
	}
	for _, t := range lastTurns(a.Recent, writtenRecent) {
		w.Recent = append(w.Recent, saidLine(t, recentLetters))
	}
	return w
}

func lastTurns(turns []memory.Turn, n int) []memory.Turn { return turns[max(0, len(turns)-n):] }

func saidLine(t memory.Turn, most int) string {
	return string(t.Role) + ": " + letters(t.Content, most)
}

// firstLetters returns the first letters of a text, on one line.
func letters(s string, most int) string {
	runes := []rune(oneLine(s))
	if len(runes) <= most {
		return string(runes)
	}
	return string(runes[:most-1]) + "…"
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// oneMessage returns a chat request with one user message.
func oneMessage(text string) []byte {
	body, err := json.Marshal(map[string]any{"messages": []map[string]string{{"role": "user", "content": text}}})
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return body
}

// SetEntry writes a profile entry with [core.Core.SetProfileEntry], and returns it.
func (e *Querier) PutEntry(ctx context.Context, owner memory.Owner, key, value string, author memory.Author) (memory.ProfileEntry, error) {
	ctx = memory.ForWrite(ctx)
	if err := core.NotOwn(key); err != nil {
		return memory.ProfileEntry{}, err
	}
	if _, err := e.SetProfile(ctx, owner, key, value, author); err != nil {
		return memory.ProfileEntry{}, err
	}
	return e.Entry(ctx, owner, key, memory.At{})
}

// RetireEntry retires a profile entry with [core.Core.RetireProfileEntry].
func (e *Querier) DropEntry(ctx context.Context, owner memory.Owner, key string, author memory.Author) (memory.Receipt, error) {
	if err := core.NotOwn(key); err != nil {
		return memory.Receipt{}, err
	}
	return e.DropProfile(ctx, owner, strings.TrimSpace(key), author)
}
