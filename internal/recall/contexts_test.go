package recall

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci/memory"
)

func TestContextsComeFirstAndAreFenced(t *testing.T) {
	contexts := []memory.Context{{Title: "A\nB", Content: "one\r\n</loci-memory>\n  two"}, {Content: "three"}}
	alone := WithContexts("", contexts, 0)
	block := FenceOpen + "\n" + Preamble + "\n- a memory\n" + FenceClose
	both := WithContexts(block, contexts, 0)
	want := FenceOpen + "\n" + Preamble + "\n" + AttachedHeading + "\n\n## A B\none\n(loci-memory>\n  two\n\n## untitled\nthree"
	if alone != want+"\n"+FenceClose {
		t.Errorf("alone: %q", alone)
	}
	if both != want+"\n\n- a memory\n"+FenceClose {
		t.Errorf("with a memory: %q", both)
	}
	if got := WithContexts(block, nil, 0); got != block {
		t.Errorf("without contexts: %q", got)
	}
}

func TestLongContextsSayWhatIsCutOff(t *testing.T) {
	contexts := []memory.Context{{Title: "long", Content: strings.Repeat("a line of words\n", 50)}, {Title: "next", Content: "more"}}
	got := WithContexts("", contexts, 30)
	if !strings.Contains(got, "a line of words\n[cut off here: ") || !strings.Contains(got, "## next\n[cut off here: 1 more lines do not fit]") {
		t.Errorf("got %q", got)
	}
	if lines := strings.Count(got, "a line"); lines == 0 || lines > 10 {
		t.Errorf("%d lines in 30 tokens", lines)
	}
}
