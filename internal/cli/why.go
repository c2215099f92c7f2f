package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

// meanings say what the parts of a why are. A part that is not here is printed
// without.
var meanings = map[string]string{
	"bootstrap": "from the global pool, since little is known of the user",
	"small_set": "one of few facts, shown without a search",
	"recent":    "one of the newest facts, since a search failed or found nothing",

	"lexical":    "words of the question in it and in the turns around it",
	"own":        "words of the question in it alone",
	"related":    "other words for the question's",
	"vector":     "cosine of its vector and the question's",
	"known":      "how much of the question has words that memory knows",
	"reply":      "words of the question in what it replies to",
	"session":    "words of the question in the best of its conversation",
	"peak":       "how far it stands out of the turns around it",
	"fused":      "all that counts for and against it",
	"relevance":  "chance that it answers the question",
	"recency":    "1 for what came or changed today, 0.37 after 30 days",
	"confidence": "how sure it is",
	"pinned":     "always in the prompt",
	"mmr":        "score less what better ones say already",
	"score":      "what hits are ordered by",
}

// sectionOf is the step that a part of a why is printed in. Parts of no other step were counted by
// the searcher.
func sectionOf(part string) string {
	switch part {
	case "fused":
		return "counted"
	case "relevance", "recency", "confidence", "pinned", "mmr", "score":
		return "judged"
	}
	if strings.HasPrefix(part, cuePrefix) {
		return "counted"
	}
	return "found"
}

// cuePrefix marks parts that are cues: what one of them adds to the sum.
const cuePrefix = "cue."

// explainer writes whys, and says what a part is where it comes first.
type explainer struct {
	printer
	said map[string]bool
}

// why writes a row for each stage's number.
func (w *explainer) why(why memory.Why) {
	for _, title := range []string{"found", "counted", "judged"} {
		section := title
		for _, p := range why {
			if sectionOf(p.Name) != section {
				continue
			}
			name, cue := strings.CutPrefix(p.Name, cuePrefix)
			format := "%7.3f"
			if cue {
				format = "%+7.3f"
			}
			meaning := ""
			if !w.said[p.Name] {
				meaning, w.said[p.Name] = meanings[p.Name], true
			}
			w.line("      %-8s %-13s %s  %s", title, name, fmt.Sprintf(format, p.Value), meaning)
			title = ""
		}
	}
}

// reasons say why a stage leaves something out, the last stage first.
var reasons = []struct{ stage, reason string }{
	{"core", "no room left for it in what every prompt begins with"},
	{"budget", "no room left for it"},
	{"top_k", "more than were asked for"},
	{"duplicate", "says the same as a better hit"},
	{"source", "a fact that was learned from it says all of it"},
	{"neighbour", "stands beside what answers the question, and says nothing of it"},
	{"slight", "too short to say anything by itself"},
	{"echo", "the same question, asked before"},
	{"other", "says it of somebody else, or as a mere case"},
	{"carried", "the request holds it already"},
	{"contradicted", "another user shares it, and a fact of the user's own contradicts it"},
	{"limit", "further back than is read from the store"},
	{"threshold", "too little relevance"},
	{"answered", "nothing that was found answers the question well enough"},
}

// left is what recall left out.
type left struct {
	client.Memory
	Cut string     `json:"cut"` // the stage that did it
	Why memory.Why `json:"why"`
}

// leftOut reads what recall left out of an answer, best first in each stage.
func leftOut(ctx context.Context, c *client.Client, t memory.Trace) []left {
	var out []left
	for _, h := range t.Cut {
		m, err := c.Get(ctx, h.ID)
		if err != nil { // of the global pool, or gone by now
			m = client.Memory{ID: h.ID, Kind: h.Kind}
		}
		out = append(out, left{m, h.Cut, h.Why})
	}
	return out
}

// misspelt writes what words of the question were taken for.
func (w *explainer) misspelt(words []memory.Misspelt) {
	for _, m := range words {
		fmt.Fprintf(w, "misspelt: %s → %s\n", harmless(m.Word), harmless(strings.Join(m.Meant, ", ")))
	}
}

// models writes what the models that recall asks had to do.
func (w *explainer) models(t memory.Trace) {
	if t.Remembered {
		fmt.Fprintln(w, "embedder: the question's vector was remembered")
	}
	if t.RerankOf > 0 {
		fmt.Fprintf(w, "reranker: read %d of %d\n", t.Reranked, t.RerankOf)
	}
}

// cut writes what was left out, under the stage that did it.
func (w *explainer) cut(cut []left, why bool) {
	for _, r := range reasons {
		title := fmt.Sprintf("left out by %s: %s\n", r.stage, r.reason)
		for _, l := range cut {
			if l.Cut != r.stage {
				continue
			}
			fmt.Fprint(w, title)
			title = ""
			w.hit(l.Why.Get("score"), l.Memory)
			if why {
				w.why(l.Why)
			}
		}
	}
}
