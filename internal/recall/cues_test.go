package recall

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestRankingPageHasTheCues compares the table of docs/design/ranking.md with the cues and their weights.
func TestRankingPageHasTheCues(t *testing.T) {
	page, err := os.ReadFile("../../docs/design/ranking.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Count(string(page), "\n| `")
	if rows != len(cues) {
		t.Errorf("the page has %d cues, want %d", rows, len(cues))
	}
	for _, c := range cues {
		row := fmt.Sprintf("\n| `%s` | %s", c.name, weightText(c.weight))
		if c.name == vectorCue {
			row = fmt.Sprintf("\n| `%s` | %s, or %s |", c.name, weightText(DefaultVectorWeight), weightText(wordsVectorWeight))
		}
		if !strings.Contains(string(page), row) {
			t.Errorf("the page does not have %q", row)
		}
	}
}

func weightText(weight float64) string {
	return strings.Replace(fmt.Sprint(weight), "-", "−", 1)
}
