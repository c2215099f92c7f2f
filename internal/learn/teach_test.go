package learn

import (
	"testing"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

func TestTurnsThatCannotTeachAreSkipped(t *testing.T) {
	for words, want := range map[string]bool{
		"":                                    false,
		"ok thanks!!":                         false,
		"hola, buenos dias":                   false,
		"what is a good recipe for soup?":     false,
		"make this shorter please":            false,
		"give me a limerick about a goat":     true, // "give me" and "goat" are not enough to call it English
		"I live in Lisbon":                    true,
		"she's allergic to nuts btw":          true,
		"actually no, the other one":          true,
		"the launch is planned for Thursday":  true,
		"can you ask Jonas about the report":  true,
		"from now on always answer in short":  true,
		"when you write sql use lowercase":    true,
		"ich wohne jetzt in Graz":             true,
		"me gusta el café sin azúcar":         true,
		"stopped yasmin, on the patch by may": true,
	} {
		utterance := extract.Utterance{Turn: memtest.Turn(memtest.Ana, "C", 0, memory.RoleUser, words), Text: words}
		if got := MayContainFact(utterance); got != want {
			t.Errorf("MayTeach(%q) = %t, want %t", words, got, want)
		}
	}
	if !MayContainFact(extract.Utterance{Text: "the green one", AnsweredMessage: "Noted. Which car is yours?"}) {
		t.Error("an answer to a question is skipped")
	}
}
