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

// Searcher finds candidates. The resident index is one; a store that can search may be another.
type Searcher interface {
	// Search returns at most s.Limit candidates, best first by its own measure;
	// equal ones keep the order of their ids. Without scopes there is no result.
	Search(ctx context.Context, s Search) ([]Candidate, error)
}

// Search is one request to a [Searcher].
type Search struct {
	Scopes       []Scope
	Text         string
	Weights      map[string]float32 // of terms of Text that count less than 1; nil: all count alike
	Vector       []float32          // of the question, by the searcher's model; nil: words only
	ByWords      bool               // search by words alone; the vector only measures similarity
	ByVector     bool               // search memories with a vector by it alone, and the others by words
	Near         []Near             // results of an outside vector search, for owners whose vectors the searcher does not have
	WordsFirst   bool               // the vector is of words too: search by it only if words find fewer than Limit
	Kinds        []Kind             // none: all
	Category     string
	Tag          string
	Conversation string          // only its turns and facts learned from it; "": all
	Exclude      map[string]bool // ids that the request already contains
	Only         map[string]bool // ids that may be found; nil: any
	At           At
	Now          time.Time
	Limit        int
}

// Near is a memory whose vector is near a question's.
type Near struct {
	Owner  Owner
	ID     string
	Cosine float32
}

// Candidate is a memory that may answer, with its raw measures. Package recall turns candidates
// into hits.
type Candidate struct {
	ID         string
	Owner      Owner
	Kind       Kind
	At         time.Time // for recency: a fact's UpdatedAt, a turn's or summary's CreatedAt
	Said       time.Time // origin of its relative dates: a fact's ObservedAt, otherwise CreatedAt
	Role       Role      // of a turn's speaker; a fact about the user has RoleUser
	Speaker    string    // a turn's Name; a fact's Subject
	Confidence float64   // of a fact; 1 for verbatim turns
	Marks      Marks     // properties of its text
	Opens      bool      // the first turn of its conversation
	Classes    uint32    // bit set of the classes of things in its text; recall defines them
	Dates      []Moment  // resolved dates in its text
	Vector     []uint16  // float16 or packed by the searcher, for redundancy; nil without one; not to be written to
	Found      Measures
	Misspelt   []Misspelt // corrected words of the question; shared by all candidates of a search, not to be written to
	Score      float64    // the searcher's measure
	Why        Why        // changes that recall made to Score; nil from a searcher
}

// Misspelt is a word of a question that occurs nowhere, and its corrections.
type Misspelt struct {
	Word  string   `json:"word"`  // in lower case
	Meant []string `json:"meant"` // from a searcher: stems, as it searches for them
}

// Measures are a searcher's raw measures of a memory, 0 if absent. Those of words are BM25, divided
// so that 1 would be every word of the question, many times; of a turn they include its neighbours,
// except Own.
type Measures struct {
	Lexical float32 // the question's words
	Own     float32 // the same in the memory's own text alone
	Related float32 // words related to the question's
	Vector  float32 // cosine
	Known   float32 // share of the question's words, by weight, that occur anywhere
	Reply   float32 // Own of the question that the turn replies to
	Session float32 // mean of the best Own in a turn's conversation
	Peak    float32 // by how much Own exceeds that of the turns around
}

// Each calls yield for each measure that is not 0, with the name of its part in [Why].
func (m *Measures) Each(yield func(name string, value float64)) {
	for i, x := range [...]float32{m.Lexical, m.Own, m.Related, m.Vector, m.Known, m.Reply, m.Session, m.Peak} {
		if x != 0 {
			yield(measureNames[i], float64(x))
		}
	}
}

var measureNames = [...]string{"lexical", "own", "related", "vector", "known", "reply", "session", "peak"}

// Marks are properties of a memory's text, whatever the question.
type Marks uint8

// The marks.
const (
	MarkAsks    Marks = 1 << iota // ends in a question mark
	MarkTimes                     // mentions a time
	MarkNumbers                   // mentions a number
	MarkOther                     // is about another subject than the user
)

// Moment is a year, a month of a year, or a day. Unknown parts are 0.
type Moment struct {
	Year       int16
	Month, Day int8
}

// Hit is a recalled memory.
type Hit struct {
	Memory Memory
	Score  float64
	Why    Why
	Now    []Fact // of a turn: replacements of facts learned from it; without text if that is out of recall
	Before []Fact // of a fact: its predecessors, newest first, unless its text mentions them
}

// Part is one stage's number.
type Part struct {
	Name  string
	Value float64
}

// Why explains a score by a part for each stage, in order. In JSON it is an object.
type Why []Part

// Get returns the value of a part, 0 without one.
func (w Why) Get(name string) float64 {
	for _, p := range w {
		if p.Name == name {
			return p.Value
		}
	}
	return 0
}

// With returns w with a part appended or, if its name exists, changed in place.
func (w Why) With(name string, value float64) Why {
	for i := range w {
		if w[i].Name == name {
			w[i].Value = value
			return w
		}
	}
	return append(w, Part{name, value})
}

// MarshalJSON writes an object in the order of the stages.
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
			return nil, fmt.Errorf("%s is %v, which JSON cannot say", p.Name, p.Value)
		}
		b = strconv.AppendFloat(append(b, ':'), p.Value, 'g', -1, 64)
	}
	return append(b, '}'), nil
}

// isName reports whether a string needs no escaping in JSON, as names of stages do not.
func isName(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (w *Why) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*w = nil
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return Errorf(Invalid, "why is an object of numbers, not %.20s", data)
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
			return Errorf(Invalid, "why is an object of numbers")
		}
		out = append(out, Part{text, value})
	}
	*w = out
	return nil
}

// ShownOf returns the ids of other owners' facts whose text is in a trace, by owner, without
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

// Trace records one request: the question, and what was found, cut and injected, and why.
type Trace struct {
	ID           string        `json:"id"`
	Owner        Owner         `json:"owner"`
	Conversation string        `json:"conversation,omitempty"`
	Door         string        `json:"door"` // "chat", "search", …
	Question     string        `json:"question"`
	At           time.Time     `json:"at"`
	Found        int           `json:"found"` // candidates
	Hits         []TraceHit    `json:"hits"`
	Cut          []TraceHit    `json:"cut,omitempty"`
	Placement    string        `json:"placement,omitempty"`
	Block        string        `json:"block,omitempty"`      // as injected
	Misspelt     []Misspelt    `json:"misspelt,omitempty"`   // corrected words of the question, and the words of hits that replaced them
	Degraded     []string      `json:"degraded,omitempty"`   // skipped parts, and why
	Remembered   bool          `json:"remembered,omitempty"` // the question's vector was cached from a recent question
	Reranked     int           `json:"reranked,omitempty"`   // candidates that the reranker read in time
	RerankOf     int           `json:"rerank_of,omitempty"`  // candidates sent to the reranker
	Took         time.Duration `json:"took_ns"`
}

// TraceHit is one memory in a trace.
type TraceHit struct {
	ID      string  `json:"id"`
	Kind    Kind    `json:"kind"`
	Content string  `json:"content,omitempty"`
	Owner   Owner   `json:"owner,omitempty"` // where it was found, if not in the trace's owner's memory
	Score   float64 `json:"score"`
	Why     Why     `json:"why"`
	Cut     string  `json:"cut,omitempty"` // the stage that dropped it
}
