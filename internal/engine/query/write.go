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

// Bounds of the writer's prompt: the number of items of each kind, and the letters of one item.
const (
	maxPromptHistory, maxHistoryLetters   = 10, 200
	maxPromptSummaries, maxSummaryLetters = 3, 240
	maxPromptEntries                      = 5
	maxPromptSimilar, maxSimilarLetters   = 4, 200
	maxPromptRecent, maxRecentLetters     = 6, 180
)

// PromptValues returns the values of the writer's prompt, shortened to its bounds.
func (a RelatedMemory) PromptValues() prompt.Write {
	var values prompt.Write
	for _, t := range lastTurns(a.RecentTurns, maxPromptHistory) {
		values.History = append(values.History, turnLine(t, maxHistoryLetters))
	}
	for _, s := range a.Summaries[:min(maxPromptSummaries, len(a.Summaries))] {
		values.Summaries = append(values.Summaries, "- "+firstLetters(s.Text, maxSummaryLetters))
	}
	for _, p := range a.ProfileEntries[:min(maxPromptEntries, len(a.ProfileEntries))] {
		values.Facts = append(values.Facts, oneLine(p.Key)+": "+oneLine(p.Value))
	}
	for _, h := range a.SimilarTurns[:min(maxPromptSimilar, len(a.SimilarTurns))] {
		line := fmt.Sprintf("[%.2f] %s", retrieve.Similarity(h), turnLine(*h.Memory.Turn, maxSimilarLetters))
		for _, f := range h.Replacements { // current facts that replaced the turn's facts
			line += strings.TrimSuffix(" [no longer so: "+firstLetters(f.Content, maxSimilarLetters), ": ") + "]"
		}
		values.Similar = append(values.Similar, line)
	}
	for _, t := range lastTurns(a.RecentTurns, maxPromptRecent) {
		values.Recent = append(values.Recent, turnLine(t, maxRecentLetters))
	}
	return values
}

func lastTurns(turns []memory.Turn, n int) []memory.Turn { return turns[max(0, len(turns)-n):] }

func turnLine(t memory.Turn, maxLetters int) string {
	return string(t.Role) + ": " + firstLetters(t.Content, maxLetters)
}

// firstLetters returns the first letters of a text, on one line.
func firstLetters(s string, limit int) string {
	runes := []rune(oneLine(s))
	if len(runes) <= limit {
		return string(runes)
	}
	return string(runes[:limit-1]) + "…"
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// oneMessageRequest returns a chat request with one user message.
func oneMessageRequest(text string) []byte {
	body, err := json.Marshal(map[string]any{"messages": []map[string]string{{"role": "user", "content": text}}})
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return body
}

// SetEntry writes a profile entry with [core.Core.SetProfileEntry], and returns it.
func (e *Querier) SetEntry(ctx context.Context, owner memory.Owner, key, value string, author memory.Author) (memory.ProfileEntry, error) {
	ctx = memory.ForWrite(ctx)
	if err := core.CheckNotReserved(key); err != nil {
		return memory.ProfileEntry{}, err
	}
	if _, err := e.SetProfileEntry(ctx, owner, key, value, author); err != nil {
		return memory.ProfileEntry{}, err
	}
	return e.ProfileEntry(ctx, owner, key, memory.At{})
}

// RetireEntry retires a profile entry with [core.Core.RetireProfileEntry].
func (e *Querier) RetireEntry(ctx context.Context, owner memory.Owner, key string, author memory.Author) (memory.Receipt, error) {
	if err := core.CheckNotReserved(key); err != nil {
		return memory.Receipt{}, err
	}
	return e.RetireProfileEntry(ctx, owner, strings.TrimSpace(key), author)
}
