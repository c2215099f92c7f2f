package learn

import (
	"testing"

	"github.com/loci-memory/loci/internal/extract"
)

func TestExplicitStatementsKeepTheirOwnWords(t *testing.T) {
	waits := extract.Candidate{Text: "user likes TEA", ReviewReason: "its model did not pass", Confidence: 0.9}
	asked := extract.Candidate{Text: "User likes tea", RememberRequested: true}
	for _, cands := range [][]extract.Candidate{{waits, asked}, {asked, waits}} {
		fresh, _, _ := Dedupe(cands, DedupeOptions{})
		if len(fresh) != 1 || fresh[0].Text != asked.Text || fresh[0].ReviewReason != "" || !fresh[0].RememberRequested || fresh[0].Confidence != 0.9 {
			t.Errorf("kept are %+v", fresh)
		}
	}
}
