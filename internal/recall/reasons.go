package recall

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// maxReasons is the maximum number of reasons shown to people.
const maxReasons = 3

// reasonTexts are explanations for people, by the name of a part of [memory.Why] that favours a memory.
var reasonTexts = map[string]string{
	"bootstrap": "it is shared with everybody", "small_set": "there are few facts, so all are shown", "recent": "it is one of the newest facts",
	"pinned": "it is pinned", "cue.words": "it has words of the question", "cue.related": "it has synonyms of the question's words", "cue.vector": "it is similar to the question",
	"cue.speaker": "the person in the question said it", "cue.speaker_words": "the person in the question said it", "cue.class": "it names a thing of the requested kind",
	"cue.when": "it names a time", "cue.date_said": "it was said on that day", "cue.date_meant": "it is about that day",
	"cue.reply": "it answers a question with the same words", "cue.session": "its conversation is about the question's subject", "cue.opens": "its conversation began with it",
	"cue.fact": "it is a learned fact", "cue.kept": "it is a learned fact",
}

// ReasonText explains to people why a memory was found, the strongest reason first, or returns "" without a reason.
func ReasonText(why memory.Why) string {
	if why.Get("core") > 0 {
		return "every conversation begins with it"
	}
	parts := slices.DeleteFunc(slices.Clone(why), func(p memory.ScorePart) bool { return reasonTexts[p.Name] == "" || p.Value < 0.005 })
	slices.SortStableFunc(parts, func(a, b memory.ScorePart) int { return cmp.Compare(b.Value, a.Value) })
	var out []string
	for _, p := range parts {
		if words := reasonTexts[p.Name]; len(out) < maxReasons && !slices.Contains(out, words) {
			out = append(out, words)
		}
	}
	return strings.Join(out, "; ")
}

// PartsText returns the parts of an explanation as text, with signs for cues: "words +3.20 · recency 1.00".
func PartsText(why memory.Why) string {
	var out []string
	for _, p := range why {
		format := "%s %.2f"
		name, isCue := strings.CutPrefix(p.Name, "cue.")
		if isCue {
			format = "%s %+.2f"
		}
		out = append(out, fmt.Sprintf(format, name, p.Value))
	}
	return strings.Join(out, " · ")
}
