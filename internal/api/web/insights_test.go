package web

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci/memory"
)

// TestInsightsOfNothing shows no share of what was never counted, and one of a thing
// as one.
func TestInsightsOfNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	if body := r.shows("/insights", "There is nothing to tell yet"); strings.Contains(body, "0 %") {
		t.Errorf("a share of nothing: %s", body)
	}
	r.fact("User likes tea")
	r.shows("/insights", "<dt>fact</dt><dd>1</dd>", "<dt>turns</dt><dd>0</dd>", "<dt>conversations</dt>")
}

func TestWhatUseMadeSurerSaysSo(t *testing.T) {
	t.Parallel()
	if got := author(memory.Author{Kind: memory.ByRule, Name: "use"}); got != "its use" {
		t.Errorf("a change by use is by %q", got)
	}
}
