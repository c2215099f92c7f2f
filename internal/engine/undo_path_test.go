package engine

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

// TestUndoToATimeLeavesThePath edits a message and undoes everything since before: the
// chat goes on from where it is, and what it taught since is gone.
func TestUndoToATimeLeavesThePath(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, open)
			ctx, author := context.Background(), memory.Author{Kind: memory.ByPerson, Name: "ana"}
			play(t, s, `remember ana: User speaks Spanish
				named chat ana: c
				user ana: Hello there!
				user ana: I live in Rome.`)
			start := s.now()
			s.clock.Advance(time.Hour)
			play(t, s, `edit ana: I play chess.
				forget ana: Spanish
				expect facts ana: User plays chess`)
			if _, err := s.Undo(ctx, ana, Undoing{ToTime: start}, author); err != nil {
				t.Fatal(err)
			}
			play(t, s, `expect facts ana: User speaks Spanish`)
			turns, err := s.Store.Turns(ctx, ana, memory.TurnQuery{Conversation: "c"})
			if err != nil {
				t.Fatal(err)
			}
			var said []string
			for _, turn := range turns {
				said = append(said, turn.Content)
			}
			if want := []string{"Hello there!", "OK.", "I play chess.", "OK."}; !slices.Equal(said, want) {
				t.Errorf("the chat is %q, want %q", said, want)
			}
		})
	}
}
