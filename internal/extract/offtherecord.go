package extract

import (
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
)

var offTheRecordForm = lazy.Compile(`(?i)(?:^|[.!?\n(]\s*)(?:(?:please|pls|ok|okay|hey|hi|oh|and|but|also|loci|just)[, ]+)*` +
	`(?:(?:do not|don['’]?t|never) (?:you )?(?:ever )?(?:remember|memori[sz]e|save|store|keep|note|record|learn|log)(?: down)? ` +
	`(?:(?:this|that|it|any of (?:this|that|it)|the following|what (?:i|follows)\b[^.:,;!?]*|anything(?: of this)?)(?: (?:please|to|in|into|for|from|about|one|but|though|ok|okay)\b|\s*[:,;.!?)–—-]|\s*$)|(?:that )?(?:i|i['’]m|i['’]ve|my|we|our)\b)` +
	`|(?:(?:do not|don['’]?t) write (?:this|that|it) down|no need to (?:remember|save|store|keep) (?:this|that|it))` +
	`|(?:strictly |totally |completely )?(?:off the record|not for the record|not for your memory|(?:just |strictly )?between (?:us|you and me|ourselves))\s*(?:[:,;.!?)–—-]|$|but\b|i['’ ]))` +
	`|\b(?:this|that|it)(?:['’]s| is| stays| must stay| should stay)(?: all| strictly| totally| completely| just)? (?:off the record|between (?:us|you and me)|not to be (?:remembered|saved|stored))\b` +
	`|\bkeep (?:this|that|it|what i (?:say|said|tell you)) (?:strictly |just )?(?:between (?:us|you and me)|to yourself|off the record|out of (?:your )?memory|private|secret)\b` +
	`|[,;:(–—-]\s*(?:but )?(?:strictly )?(?:off the record|between (?:us|you and me))\s*(?:[.!?)]|$)`)

// Such a wish needs a word of each of these lists, here without their first letters.
var (
	keepingWords = []string{"emember", "emor", "ave ", "tore ", "eep ", "ote ", "ecord", "earn ", "og ", "rite ", "etween ", "EMEMBER", "AVE ", "TORE ", "ECORD"}
	privateWords = []string{"ot ", "n't ", "n’t ", "ont ", "ever ", "the record", "etween ", "eep ", "o need", "OT ", "N'T ", "N’T "}
)

// OffTheRecord reports whether who says this wishes that it is not remembered: "don't remember
// this: I take Prozac", "off the record, …". It is for the whole turn.
func OffTheRecord(said string) bool {
	has := func(word string) bool { return strings.Contains(said, word) }
	return slices.ContainsFunc(keepingWords, has) && slices.ContainsFunc(privateWords, has) && offTheRecordForm.MatchString(said)
}
