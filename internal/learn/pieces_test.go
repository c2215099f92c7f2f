package learn

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/memory"
)

func TestPiecesLeaveNothingOut(t *testing.T) {
	long := strings.Repeat("Ich wohne in Köln. I live in Lisbon. ", 100)
	for name, texts := range map[string][]string{
		"short": {"I live in Lisbon.", "I have a dog."}, "long": {"Hi.", long, "Bye."}, "one word": {strings.Repeat("ö", 5000)}, "many": strings.Split(strings.TrimSpace(strings.Repeat("one two three\n", 300)), "\n"),
	} {
		var utterances []extract.Utterance
		for i, s := range texts {
			utterances = append(utterances, extract.Utterance{Turn: memory.Turn{ID: string(rune('A' + i)), Content: s}, Text: s})
		}
		shown := map[string]string{}
		pieces := slices.Collect(Batches(utterances, 1000))
		for _, piece := range pieces {
			size := 0
			for _, s := range piece {
				part := strings.TrimSpace(s.Text)
				size += len(part)
				shown[s.Turn.ID] += strings.ReplaceAll(part, " ", "")
				if len(s.Text) != len(s.Turn.Content) || !utf8.ValidString(s.Text) || !strings.Contains(s.Turn.Content, part) {
					t.Errorf("%s: a piece of turn %s is not in its place", name, s.Turn.ID)
				}
			}
			if size > 1000 {
				t.Errorf("%s: a piece has %d bytes, want at most 1000", name, size)
			}
		}
		for _, s := range utterances {
			if got, want := shown[s.Turn.ID], strings.ReplaceAll(s.Text, " ", ""); got != want {
				t.Errorf("%s: of turn %s the pieces show %d bytes of %d", name, s.Turn.ID, len(got), len(want))
			}
		}
		if name == "short" && len(pieces) != 1 {
			t.Errorf("%s: %d pieces, want one", name, len(pieces))
		}
	}
	if got := WithTurnIDs([]extract.Candidate{{TurnID: "t2"}, {TurnID: "t9"}}, []extract.Utterance{{Turn: memory.Turn{ID: "a"}}, {Turn: memory.Turn{ID: "b"}}}); got[0].TurnID != "b" || got[1].TurnID != "t9" {
		t.Errorf("turns are named %q and %q, want b and t9", got[0].TurnID, got[1].TurnID)
	}
}
