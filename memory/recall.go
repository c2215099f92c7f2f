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

// Searcher finds candidates. Loci's index is a Searcher; a store with its own search can be one
// too.
type Searcher interface {
	// Search returns at most s.Limit candidates, best first by the searcher's score; equal scores
	// keep the order of ids. Without scopes it returns nothing.
	Search(ctx context.Context, s Search) ([]Candidate, error)
}

// Search is one request to a [Searcher].
type Search struct {
	Scopes       []Scope
	Text         string
	Weights      map[string]float32 // weights of terms of Text that count less than 1; nil: all terms count fully
	Vector       []float32          // embedding of the question by the searcher's model; nil: search by words only
	ByWords      bool               // search only by words; the vector only measures similarity
	ByVector     bool               // search memories with a vector only by vector, and the others by words
	Near         []Near             // results of an external vector search, for owners whose vectors the searcher does not have
	WordsFirst   bool               // the vector depends only on words: use it only if the word search finds fewer than Limit
	Kinds        []Kind             // nil: all kinds
	Category     string
	Tag          string
	Conversation string          // only turns of this conversation and facts learned from it; "": all
	Exclude      map[string]bool // ids that the request already contains
	Only         map[string]bool // ids that may be returned; nil: any
	At           At
	Now          time.Time
	Limit        int
}

// Near is a memory whose vector is similar to the question's vector.
type Near struct {
	Owner  Owner
	ID     string
	Cosine float32
}

// Candidate is a memory that may answer the question, with its raw scores. Package recall turns
// candidates into hits.
type Candidate struct {
	ID         string
	Owner      Owner
	Kind       Kind
	At         time.Time // time for the recency score: a fact's UpdatedAt, a turn's or summary's CreatedAt
	Said       time.Time // time from which relative dates in the text count: a fact's ObservedAt, otherwise CreatedAt
	Role       Role      // role of a turn's speaker; RoleUser for a fact about the user
	Speaker    string    // Name of a turn, or Subject of a fact
	Confidence float64   // confidence of a fact; 1 for verbatim turns
	Marks      Marks     // properties of the memory's text
	Opens      bool      // whether this is the first turn of its conversation
	Classes    uint32    // bit set of the classes of things in the text; package recall defines them
	Dates      []Moment  // resolved dates in its text
	Vector     []uint16  // in float16 or the searcher's packed form, for finding redundancy; may be nil; read-only
	Found      Measures
	Misspelt   []Misspelt // corrected words of the question; shared by all candidates of a search, read-only
	Score      float64    // the searcher's score
	Why        Why        // changes that package recall made to Score; nil from a searcher
}

// Misspelt is a word of a question that occurs in no memory, with its corrections.
type Misspelt struct {
	Word  string   `json:"word"`  // in lower case
	Meant []string `json:"meant"` // corrections; a searcher returns stems, as it searches for these
}

// Measures holds a searcher's raw scores of a memory, 0 if absent. Word scores are BM25, scaled so
// that 1 means that every word of the question occurs many times. Except for Own, the word scores
// of a turn include the turns next to it.
type Measures struct {
	Lexical float32 // score of the question's words
	Own     float32 // Lexical of only the memory's own text
	Related float32 // score of words related to the question's words
	Vector  float32 // cosine similarity
	Known   float32 // weighted share of the question's words that occur in any memory
	Reply   float32 // Own of the question to which this turn replies
	Session float32 // mean of the best Own in a turn's conversation
	Peak    float32 // by how much Own exceeds Own of the turns around it
}

// Each calls yield for each score that is not 0, with the name that the score has in [Why].
func (m *Measures) Each(yield func(name string, value float64)) {
	for i, x := range [...]float32{m.Lexical, m.Own, m.Related, m.Vector, m.Known, m.Reply, m.Session, m.Peak} {
		if x != 0 {
			yield(measureNames[i], float64(x))
		}
	}
}

var measureNames = [...]string{"lexical", "own", "related", "vector", "known", "reply", "session", "peak"}

// Marks are properties of a memory's text, independent of the question.
type Marks uint8

// The marks.
const (
	MarkAsks    Marks = 1 << iota // the text ends with a question mark
	MarkTimes                     // the text mentions a time
	MarkNumbers                   // the text mentions a number
	MarkOther                     // the text is about someone other than the user
)

// Moment is a year, a month of a year, or a day. Unknown parts are 0.
type Moment struct {
	Year       int16
	Month, Day int8
}

// Hit is a memory that a search returned.
type Hit struct {
	Memory Memory
	Score  float64
	Why    Why
	Now    []Fact // for a turn: replacements of facts learned from it; without text if searches exclude that text
	Before []Fact // for a fact: its predecessors, newest first, unless its text mentions them
}

// Part is the number that one stage of a search contributed to a score.
type Part struct {
	Name  string
	Value float64
}

// Why explains a score: one part for each stage, in order. Its JSON is an object.
type Why []Part

// Get returns the value of a part, 0 if there is none.
func (w Why) Get(name string) float64 {
	for _, p := range w {
		if p.Name == name {
			return p.Value
		}
	}
	return 0
}

// With returns w with the part set: appended, or changed in place if the name exists.
func (w Why) With(name string, value float64) Why {
	for i := range w {
		if w[i].Name == name {
			w[i].Value = value
			return w
		}
	}
	return append(w, Part{name, value})
}

// MarshalJSON writes an object whose keys are in the order of the stages.
func (w Why) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, 32*len(w)+2), '{')
	for i, p := range w {
		if i > 0 {
			b = append(b, ',')
		}
		if isName(p.Name) {
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

// isName reports whether a string needs no escaping in JSON; this is true for names of stages.
func isName(s string) bool {
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
		out = append(out, Part{text, value})
	}
	*w = out
	return nil
}

// ShownOf returns the ids of other owners' facts whose text the trace contains, by owner, without
// duplicates.
func (t Trace) ShownOf() map[Owner][]string {
	var of map[Owner][]string
	for _, h := range t.Hits {
		if h.Kind != KindFact || h.Content == "" || h.Owner == "" || h.Owner == t.Owner || slices.Contains(of[h.Owner], h.ID) {
			continue
		}
		if of == nil {
			of = map[Owner][]string{}
		}
		of[h.Owner] = append(of[h.Owner], h.ID)
	}
	return of
}

// Trace records one request: the question, what was found, dropped and injected, and why.
type Trace struct {
	ID           string        `json:"id"`
	Owner        Owner         `json:"owner"`
	Conversation string        `json:"conversation,omitempty"`
	Door         string        `json:"door"` // the entry point: "chat", "search", …
	Question     string        `json:"question"`
	At           time.Time     `json:"at"`
	Found        int           `json:"found"` // number of candidates
	Hits         []TraceHit    `json:"hits"`
	Cut          []TraceHit    `json:"cut,omitempty"`
	Placement    string        `json:"placement,omitempty"`
	Block        string        `json:"block,omitempty"`      // the injected text
	Misspelt     []Misspelt    `json:"misspelt,omitempty"`   // corrected words of the question, with the words of hits that matched instead
	Degraded     []string      `json:"degraded,omitempty"`   // skipped components, and the reasons
	Remembered   bool          `json:"remembered,omitempty"` // the question's vector came from the cache
	Reranked     int           `json:"reranked,omitempty"`   // candidates that the reranker read in time
	RerankOf     int           `json:"rerank_of,omitempty"`  // candidates that were sent to the reranker
	Took         time.Duration `json:"took_ns"`
}

// TraceHit is one memory in a trace.
type TraceHit struct {
	ID      string  `json:"id"`
	Kind    Kind    `json:"kind"`
	Content string  `json:"content,omitempty"`
	Owner   Owner   `json:"owner,omitempty"` // owner in whose memory it was found, if not the trace's owner
	Score   float64 `json:"score"`
	Why     Why     `json:"why"`
	Cut     string  `json:"cut,omitempty"` // the stage that dropped it
}
