package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// Searcher finds candidates. Loci's index is a Searcher; a store with its own search can also be a Searcher.
type Searcher interface {
	// Search returns at most s.Limit candidates, best first by the searcher's score. Candidates with equal
	// scores are ordered by id. Without scopes it returns none.
	Search(ctx context.Context, s Search) ([]Candidate, error)
}

// Search is one request to a [Searcher].
type Search struct {
	Scopes        []Scope
	Text          string
	TermWeights   map[string]float32 // weights of the search terms in Text, from 0 to 1; a term without an entry has weight 1
	Vector        []float32          // embedding of the question by the searcher's model; nil means search by words only
	WordsOnly     bool               // search only by words; Vector is used only to measure similarity
	PreferVectors bool               // search memories that have a vector only by vector, and other memories by words
	Neighbors     []Neighbor         // results of an external vector search, for owners whose vectors are not in the searcher's index
	WordsFirst    bool               // use the vector only if the word search finds fewer than Limit candidates: set if the vector depends only on words
	Kinds         []Kind             // nil selects all kinds
	Category      string
	Tag           string
	Conversation  string          // id of a conversation: selects only its turns and facts learned from them; "" selects all
	ExcludedIDs   map[string]bool // ids that the request already contains
	AllowedIDs    map[string]bool // ids that may be returned; nil allows all
	At            At
	Now           time.Time
	Limit         int
}

// Neighbor is a memory with a vector similar to the question's vector.
type Neighbor struct {
	Owner  Owner
	ID     string
	Cosine float32
}

// Candidate is a memory that may answer the question, with raw scores. Package recall turns candidates into
// hits.
type Candidate struct {
	ID                string
	Owner             Owner
	Kind              Kind
	At                time.Time     // time from which the recency score is computed: UpdatedAt of a fact, CreatedAt of a turn or summary
	StatedAt          time.Time     // time to which relative dates in the text refer: ObservedAt of a fact, CreatedAt of a turn or summary
	Role              Role          // role of a turn's speaker; RoleUser for a fact about the user
	Speaker           string        // Name of a turn, or Subject of a fact
	Confidence        float64       // confidence of a fact; 1 for turns
	TextFlags         TextFlags     // properties of the memory's text
	OpensConversation bool          // the memory is the first turn of its conversation
	Classes           uint32        // bit set of the classes of things in the text; package recall defines them
	Dates             []PartialDate // dates in the text, with relative dates resolved
	Vector            []uint16      // vector as float16 or in the searcher's packed form, to detect redundant candidates; may be nil; read-only
	Measures          Measures
	Misspelt          []Misspelt // misspelt words of the question; shared by all candidates of a search, read-only
	Score             float64    // the searcher's score
	Why               Why        // changes of Score by package recall; nil from a searcher
}

// Misspelt is a word of a question that is in no memory, with its corrections.
type Misspelt struct {
	Word  string   `json:"word"`  // in lower case
	Meant []string `json:"meant"` // corrections; a searcher returns stems, since it searches for stems
}

// Measures contains a searcher's raw scores of a memory, 0 if absent. Word scores are BM25, scaled so that 1
// means that each word of the question occurs many times. Except for Own, the word scores of a turn include
// words of the turns next to it.
type Measures struct {
	Lexical float32 // score of the question's words
	Own     float32 // score of the question's words in the memory's own text
	Related float32 // score of words related to the question's words
	Vector  float32 // cosine similarity
	Known   float32 // weighted share of the question's words that occur in any memory
	Reply   float32 // score Own of the user turn that this assistant turn answers
	Session float32 // mean of the highest scores Own in the turn's conversation
	Peak    float32 // difference between the score Own and the scores Own of the neighboring turns
}

// Each calls yield for each score that is not 0, with the score's name in [Why].
func (m *Measures) Each(yield func(name string, value float64)) {
	for i, x := range [...]float32{m.Lexical, m.Own, m.Related, m.Vector, m.Known, m.Reply, m.Session, m.Peak} {
		if x != 0 {
			yield(measureNames[i], float64(x))
		}
	}
}

var measureNames = [...]string{"lexical", "own", "related", "vector", "known", "reply", "session", "peak"}

// TextFlags are properties of a memory's text that do not depend on the question.
type TextFlags uint8

// The values of [TextFlags].
const (
	FlagQuestion    TextFlags = 1 << iota // the text ends with a question mark
	FlagTime                              // the text mentions a time
	FlagNumber                            // the text mentions a number
	FlagOtherPerson                       // the text is about a person other than the user
)

// PartialDate is a year, a month of a year, or a day. Unknown parts are 0.
type PartialDate struct {
	Year       int16
	Month, Day int8
}

// Hit is a memory that a search returned.
type Hit struct {
	Memory       Memory
	Score        float64
	Why          Why
	Replacements []Fact // of a turn: replacements of facts learned from the turn; a replacement that searches exclude has no text
	Predecessors []Fact // of a fact: the facts that it replaced, newest first, except facts that the text of the new fact mentions
}

// ScorePart is the contribution of one stage of a search to a score.
type ScorePart struct {
	Name  string
	Value float64
}

// Why explains a score: one part for each stage, in the order of the stages. Its JSON is an object.
type Why []ScorePart

// Get returns the value of a part, 0 if w has no part with this name.
func (w Why) Get(name string) float64 {
	for _, p := range w {
		if p.Name == name {
			return p.Value
		}
	}
	return 0
}

// With returns w with the named part set: appended, or changed in place if the part exists.
func (w Why) With(name string, value float64) Why {
	for i := range w {
		if w[i].Name == name {
			w[i].Value = value
			return w
		}
	}
	return append(w, ScorePart{name, value})
}

// MarshalJSON writes an object whose keys are in the order of the stages.
func (w Why) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, 32*len(w)+2), '{')
	for i, p := range w {
		if i > 0 {
			b = append(b, ',')
		}
		if needsNoEscaping(p.Name) {
			b = append(append(append(b, '"'), p.Name...), '"')
		} else {
			name, err := json.Marshal(p.Name)
			if err != nil {
				return nil, err
			}
			b = append(b, name...)
		}
		if math.IsNaN(p.Value) || math.IsInf(p.Value, 0) {
			return nil, fmt.Errorf("JSON cannot represent %s = %v", p.Name, p.Value)
		}
		b = strconv.AppendFloat(append(b, ':'), p.Value, 'g', -1, 64)
	}
	return append(b, '}'), nil
}

// needsNoEscaping reports whether s needs no escaping in JSON. Names of stages never need escaping.
func needsNoEscaping(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

// UnmarshalJSON parses the JSON that MarshalJSON writes.
func (w *Why) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*w = nil
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return Errorf(Invalid, "why must be an object of numbers, not %.20s", data)
	}
	out := Why{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		var value float64
		if err := dec.Decode(&value); err != nil {
			return err
		}
		text, ok := name.(string)
		if !ok {
			return Errorf(Invalid, "why must be an object of numbers")
		}
		out = append(out, ScorePart{text, value})
	}
	*w = out
	return nil
}

// OtherOwnersFacts returns the ids of other owners' facts whose text the trace contains, by owner, without
// duplicates.
func (t Trace) OtherOwnersFacts() map[Owner][]string {
	var byOwner map[Owner][]string
	for _, h := range t.Hits {
		if h.Kind != KindFact || h.Content == "" || h.Owner == "" || h.Owner == t.Owner || slices.Contains(byOwner[h.Owner], h.ID) {
			continue
		}
		if byOwner == nil {
			byOwner = map[Owner][]string{}
		}
		byOwner[h.Owner] = append(byOwner[h.Owner], h.ID)
	}
	return byOwner
}

// Trace records one request: its question, the number of candidates, and the injected and the dropped
// memories with reasons.
type Trace struct {
	ID           string        `json:"id"`
	Owner        Owner         `json:"owner"`
	Conversation string        `json:"conversation,omitempty"`
	Door         string        `json:"door"` // entry point of the request: "chat", "search", …
	Question     string        `json:"question"`
	At           time.Time     `json:"at"`
	Found        int           `json:"found"`                // number of candidates
	Hits         []TraceHit    `json:"hits"`                 // injected memories
	Cut          []TraceHit    `json:"cut,omitempty"`        // dropped memories
	Placement    string        `json:"placement,omitempty"`  // position of the block in the request
	Block        string        `json:"block,omitempty"`      // the injected text
	Misspelt     []Misspelt    `json:"misspelt,omitempty"`   // misspelt words of the question, each with the words of hits that match in place of the misspelt word
	Degraded     []string      `json:"degraded,omitempty"`   // components that were skipped, with reasons
	Remembered   bool          `json:"remembered,omitempty"` // the question's vector came from the cache
	Reranked     int           `json:"reranked,omitempty"`   // number of candidates that the reranker scored in time
	RerankOf     int           `json:"rerank_of,omitempty"`  // number of candidates sent to the reranker
	Took         time.Duration `json:"took_ns"`
}

// TraceHit is one memory in a trace.
type TraceHit struct {
	ID      string  `json:"id"`
	Kind    Kind    `json:"kind"`
	Content string  `json:"content,omitempty"`
	Owner   Owner   `json:"owner,omitempty"` // owner in whose memory the hit was found; empty for the trace's owner
	Score   float64 `json:"score"`
	Why     Why     `json:"why"`
	Cut     string  `json:"cut,omitempty"` // name of the stage that dropped the memory; empty if injected
}
