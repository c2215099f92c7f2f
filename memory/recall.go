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

// Searcher finds candidates. The resident index is one; a store that can search
// by itself may be another.
type Searcher interface {
	// Search returns at most s.Limit candidates, best first by its own measure;
	// equal ones keep the order of their ids. Without scopes there is no result.
	Search(ctx context.Context, s Search) ([]Candidate, error)
}

// Search is one question to a [Searcher].
type Search struct {
	Scopes       []Scope
	Text         string
	Weights      map[string]float32 // of terms of Text that count less than 1; nil: all count alike
	Vector       []float32          // of the question, by the searcher's model; nil: words only
	ByWords      bool               // find by words alone, as they are written; the vector only says how near that is
	ByVector     bool               // find by the vector alone what has one; the words find the others
	Near         []Near             // what a search of vectors elsewhere found, of owners whose vectors the searcher does not have
	WordsFirst   bool               // the vector, too, is of words: what is near by it need be looked for only where words find less than Limit
	Kinds        []Kind             // none: all
	Category     string
	Tag          string
	Conversation string          // only what this conversation said or taught; "": all
	Exclude      map[string]bool // ids that the request carries already
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

// Candidate is a memory that may answer, with the raw numbers it was found by.
// Package recall makes hits of candidates.
type Candidate struct {
	ID         string
	Owner      Owner
	Kind       Kind
	At         time.Time // for recency: a fact's UpdatedAt, a turn's or summary's CreatedAt
	Said       time.Time // what its relative dates count from: a fact's ObservedAt, otherwise CreatedAt
	Role       Role      // of a turn's speaker; a fact about the user has RoleUser
	Speaker    string    // a turn's Name; a fact's Subject
	Confidence float64   // of a fact; 1 for what was said word for word
	Marks      Marks     // what its words show
	Opens      bool      // a turn before which nothing was said in its conversation
	Classes    uint32    // of things its words name, a bit for each; recall knows which
	Dates      []Moment  // that its words mean, resolved
	Vector     []uint16  // its own as float16 or packed by the searcher, for redundancy; nil without one; not to be written to
	Found      Measures
	Misspelt   []Misspelt // what words of the question were taken for; the same of all that a search found, not to be written to
	Score      float64    // the searcher's measure
	Why        Why        // how recall changed Score; nil from a searcher
}

// Misspelt is a word of a question that nobody has, and what it was taken for.
type Misspelt struct {
	Word  string   `json:"word"`  // in small letters
	Meant []string `json:"meant"` // of a searcher stems, as it looks for them
}

// Measures are the raw numbers by which a searcher found a memory, 0 where it has
// nothing of that. Those of words are BM25, divided so that 1 would be every word of
// the question, many times; of a turn they count its neighbours too, but for Own.
type Measures struct {
	Lexical float32 // the question's words
	Own     float32 // the same in the memory's own text alone
	Related float32 // words related to the question's
	Vector  float32 // cosine
	Known   float32 // share of the question's words, by weight, that anything has
	Reply   float32 // Own of the question that a turn replies to
	Session float32 // mean of the best Own in a turn's conversation
	Peak    float32 // by how much Own exceeds that of the turns around
}

// Each calls yield for each measure that is not 0, by the name of its part in [Why].
func (m *Measures) Each(yield func(name string, value float64)) {
	for i, x := range [...]float32{m.Lexical, m.Own, m.Related, m.Vector, m.Known, m.Reply, m.Session, m.Peak} {
		if x != 0 {
			yield(measureNames[i], float64(x))
		}
	}
}

var measureNames = [...]string{"lexical", "own", "related", "vector", "known", "reply", "session", "peak"}

// Marks are what a memory shows whatever the question.
type Marks uint8

// The marks.
const (
	MarkAsks    Marks = 1 << iota // ends in a question mark
	MarkTimes                     // speaks of a time
	MarkNumbers                   // names a number
	MarkOther                     // is about somebody or something else than the user
)

// Moment is a year, a month of a year, or a day. Parts that are not known are 0.
type Moment struct {
	Year       int16
	Month, Day int8
}

// Hit is a recalled memory.
type Hit struct {
	Memory Memory
	Score  float64
	Why    Why
	Now    []Fact // of a turn: what took the place of facts that it taught; without words where that is out of recall
	Before []Fact // of a fact: what it took the place of, the newest first, unless it says that, too
}

// Part is one stage's number.
type Part struct {
	Name  string
	Value float64
}

// Why is how a score came about, a part for each stage in their order. In JSON it
// is an object.
type Why []Part

// Get returns the part of that name, 0 without one.
func (w Why) Get(name string) float64 {
	for _, p := range w {
		if p.Name == name {
			return p.Value
		}
	}
	return 0
}

// With returns w with a part added at its end or, if there is one of that name,
// changed in place.
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

// isName reports whether a string is in JSON as it is, as the names of stages are.
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

// ShownOf returns the ids of the facts whose words a trace has out of others' memories, by
// owner, each once.
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

// Trace is what one request asked, what was found, cut and injected, and why.
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
	Misspelt     []Misspelt    `json:"misspelt,omitempty"`   // words of the question, and those of the hits that they were taken for
	Degraded     []string      `json:"degraded,omitempty"`   // parts that were skipped, and why
	Remembered   bool          `json:"remembered,omitempty"` // the question's vector was at hand: it was asked not long before
	Reranked     int           `json:"reranked,omitempty"`   // candidates that a reranker read in its time
	RerankOf     int           `json:"rerank_of,omitempty"`  // candidates that it was given
	Took         time.Duration `json:"took_ns"`
}

// TraceHit is one memory in a trace.
type TraceHit struct {
	ID      string  `json:"id"`
	Kind    Kind    `json:"kind"`
	Content string  `json:"content,omitempty"`
	Owner   Owner   `json:"owner,omitempty"` // in whose memory it was found, if that is not the trace's owner
	Score   float64 `json:"score"`
	Why     Why     `json:"why"`
	Cut     string  `json:"cut,omitempty"` // the stage that left it out
}
