package query

import (
	"context"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Intent is the purpose of a query. It determines the wording of the prompt's memory part, and is returned
// with the answer.
type Intent string

// The values of Intent.
const (
	IntentImage    Intent = "image"     // the query has images
	IntentMemory   Intent = "memory"    // questions about earlier messages or about the user
	IntentSummary  Intent = "summary"   // a summary of the conversation
	IntentCode     Intent = "code"      // programming
	IntentLocation Intent = "location"  // places nearby
	IntentChat     Intent = "smalltalk" // greetings and thanks
	IntentGeneral  Intent = "general"   // anything else
)

// intents are tried in order; the first intent with a matching keyword is used.
var intents = []struct {
	intent   Intent
	keywords *lazy.Pattern
	example  string // text to compare with a query that has no keyword
}{
	{IntentSummary, lazy.Compile(`(?i)\b(?:summari[sz]e|summary|recap|tl;?dr|sum up|key points)\b`), "Give me an overview of our conversation"},
	{IntentMemory, lazy.Compile(`(?i)\b(?:remember|recall|remind me|earlier|previously|last time|before that|did i (?:say|tell|mention)|have i (?:said|told|mentioned)|i (?:said|told you|mentioned)|you (?:said|told me)|who am i|what(?:'s| is| are| was) my|where do i|about me)\b`), "What have I told you about myself in the past?"},
	{IntentCode, lazy.Compile(`(?i)\b(?:code|coding|program(?:ming)?|function|compile[rd]?|debug|stack ?trace|exception|syntax|regex|sql|python|javascript|typescript|golang|java|rust|api)\b`), "Write a function that sorts a list"},
	{IntentLocation, lazy.Compile(`(?i)\b(?:near ?by|near me|around here|close by|directions|restaurants?|weather|where am i)\b`), "Which places are in this neighbourhood?"},
}

var greeting = lazy.Compile(`(?i)^\W*(?:hi|hello|hey|good (?:morning|afternoon|evening|night)|thanks?(?: you)?|thank you very much|how are you|bye|goodbye)(?: there| all| so much)?\W*$`)

// Intent returns a query's intent, by keywords and, if enabled, by similarity to examples.
func (e *Querier) Intent(ctx context.Context, q Request) Intent {
	if len(q.Images) > 0 {
		return IntentImage
	}
	if greeting.MatchString(q.Text) {
		return IntentChat
	}
	for _, i := range intents {
		if i.keywords.MatchString(q.Text) {
			return i.intent
		}
	}
	if e.Opts.IntentMethod == IntentsByEmbedding {
		return e.mostSimilarIntent(ctx, q.Text)
	}
	return IntentGeneral
}

// The methods that find a query's intent.
const (
	IntentsByKeywords  = "keywords"
	IntentsByEmbedding = "embedding"
)

// maxIntentBytes bounds the bytes of a query that are compared with examples.
const maxIntentBytes = 4 << 10

// minSimilarity is the minimum cosine between a query and the example of its intent.
const minSimilarity = 0.5

// mostSimilarIntent returns the intent with the example that is most similar to the text. If the embedder
// fails or is too slow, it returns the general intent.
func (e *Querier) mostSimilarIntent(ctx context.Context, content string) Intent {
	ctx, cancel := context.WithTimeout(ctx, e.Retrieve.Deadline())
	defer cancel()
	texts := []string{core.Clip(content, maxIntentBytes)}
	for _, i := range intents {
		texts = append(texts, i.example)
	}
	vectors, err := e.Embedder.Embed(ctx, memory.AsDocument, texts...)
	if err != nil || len(text.Words(content)) == 0 {
		return IntentGeneral
	}
	best, bestCosine := IntentGeneral, minSimilarity
	for i, v := range vectors[1:] {
		dot := 0.0
		for j, x := range v {
			dot += float64(x) * float64(vectors[0][j])
		}
		if dot >= bestCosine {
			best, bestCosine = intents[i].intent, dot
		}
	}
	return best
}
