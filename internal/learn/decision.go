package learn

import (
	"strconv"
	"strings"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// The verdicts.
const (
	Add    extract.Verdict = "add"    // remember the candidate
	Update extract.Verdict = "update" // the candidate takes the target's place
	Delete extract.Verdict = "delete" // the target no longer holds
	None   extract.Verdict = "none"   // the target says the same already
)

// Decision is what reconciliation says of a candidate.
type Decision struct {
	Candidate int // its place in the list; -1 if the decision names none
	Verdict   extract.Verdict
	Target    string // id of the known fact; "" for Add
	Text      string // of an Update: the words to keep instead of the candidate's
	Reason    string
}

var verdicts = map[string]extract.Verdict{
	"add": Add, "new": Add, "insert": Add, "create": Add,
	"update": Update, "replace": Update, "merge": Update, "refine": Update, "supersede": Update,
	"delete": Delete, "remove": Delete, "retire": Delete, "forget": Delete, "end": Delete,
	"none": None, "same": None, "ignore": None, "noop": None, "no-op": None, "skip": None, "keep": None, "duplicate": None, "redundant": None,
}

var (
	decisionKeys = []string{"decisions", "memory", "memories", "actions", "operations", "results", "facts", "updates"}
	verdictKeys  = []string{"event", "action", "operation", "verdict", "decision"}
	newKeys      = []string{"new", "candidate", "new_id", "index", "fact_id"}
	targetKeys   = []string{"target_id", "target", "id", "old_id", "memory_id"}
	reasonKeys   = []string{"reason", "why", "explanation"}
	wordsKeys    = []string{"text", "content", "new_text", "new_memory", "fact", "memory"}
)

// ParseDecisions reads a model's reply about cands: the reconciliation prompt's
// decisions, a list of known facts with events, or {"action": "replace",
// "target_id": …}. What names nothing that was asked about is left out; Plan
// judges the rest. [memory.Invalid]: the reply has no decisions at all.
func ParseDecisions(reply string, cands []extract.Candidate) ([]Decision, error) {
	r := decisionReader{cands: cands, targets: map[string]string{}}
	for i, n := range neighbours(cands) {
		r.targets[strconv.Itoa(i)] = n.Fact.ID
		r.targets[n.Fact.ID] = n.Fact.ID
	}
	cut := each(answer(reply), func(v any) bool {
		r.read(v, 0)
		return len(r.out) < maxDecisions
	})
	if !r.found {
		r.lines(answer(reply))
	}
	if !r.found || cut && len(r.out) == 0 {
		return nil, memory.Errorf(memory.Invalid, "reply has no decisions")
	}
	return r.out, nil
}

// maxDecisions bounds what is read of a reply.
const maxDecisions = 256

type decisionReader struct {
	cands   []extract.Candidate
	targets map[string]string // short and whole ids to whole ones
	out     []Decision
	found   bool
}

func (r *decisionReader) read(v any, depth int) {
	if depth > maxWraps || len(r.out) >= maxDecisions {
		return
	}
	switch v := v.(type) {
	case string:
		if inner, ok := unwrapped(v); ok {
			r.read(inner, depth+1)
		}
	case []any:
		r.found = r.found || len(v) == 0
		for _, item := range v {
			r.read(item, depth+1)
		}
	case object:
		r.readObject(v, depth)
	}
}

func (r *decisionReader) readObject(o object, depth int) {
	for _, key := range decisionKeys {
		switch list, _ := o.get(key); list := list.(type) {
		case []any:
			r.found = true
			r.read(list, depth+1)
			return
		case object:
			r.read(list, depth+1)
			return
		}
	}
	if verdict, ok := verdicts[strings.ToLower(one(o, verdictKeys))]; ok {
		r.found = true
		r.decide(o, verdict)
		return
	}
	for _, key := range wrapKeys {
		if v, there := o.get(key); there {
			r.read(v, depth+1)
		}
	}
	for _, e := range o { // {"1": "ADD", "2": {"event": "NONE", "id": "0"}}
		if _, err := strconv.Atoi(strings.Trim(e.key, "[]# ")); err != nil {
			continue
		}
		switch v := e.value.(type) {
		case object:
			r.read(append(object{{"new", e.key}}, v...), depth+1)
		case string:
			r.line(e.key + ": " + v)
		case bare:
			r.line(e.key + ": " + string(v))
		}
	}
}

// decided is a decision in a line: "1. UPDATE 0".
var decided = lazy.Compile(`(?i)^\W*(?:new |fact |candidate )?(\d{1,3})\W+([a-z-]{3,9})\b(?:\W+(?:id |target |fact |of |on )?\[?(\d{1,3})\]?)?\W*$`)

func (r *decisionReader) lines(s string) {
	for line := range strings.Lines(s) {
		r.line(line)
	}
}

func (r *decisionReader) line(s string) {
	m := decided.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return
	}
	if verdict, ok := verdicts[strings.ToLower(m[2])]; ok && len(r.out) < maxDecisions {
		r.found = true
		r.decide(object{{"new", m[1]}, {"id", m[3]}}, verdict)
	}
}

func (r *decisionReader) decide(m object, verdict extract.Verdict) {
	d := Decision{
		Verdict: verdict,
		Target:  r.targets[strings.Trim(one(m, targetKeys), "[]# ")],
		Text:    one(m, wordsKeys),
		Reason:  one(m, reasonKeys),
	}
	d.Candidate = r.candidate(one(m, newKeys), d)
	switch {
	case verdict == Add && d.Candidate < 0, verdict == None && d.Candidate < 0, verdict == Delete && d.Target == "":
		return
	case verdict == Add:
		d.Target = ""
	}
	r.out = append(r.out, d)
}

// candidate returns the place of the candidate that a decision is about: by its
// number, or else by its words. -1: none.
func (r *decisionReader) candidate(number string, d Decision) int {
	if n, err := strconv.Atoi(strings.Trim(number, "[]# ")); err == nil {
		if 1 <= n && n <= len(r.cands) {
			return n - 1
		}
		return -1
	}
	if d.Text != "" && d.Verdict != None {
		return r.likest(d.Text)
	}
	if len(r.cands) == 1 && d.Verdict != Delete {
		return 0
	}
	return -1
}

// likest returns the candidate that shares most words with s, if half of its own
// are among them.
func (r *decisionReader) likest(s string) int {
	best, most := -1, 0.5
	for i, c := range r.cands {
		if text.Hash(c.Text) == text.Hash(s) {
			return i
		}
		if share := extract.Covered(extract.TermSet(c.Text), extract.TermSet(s)); share > most {
			best, most = i, share
		}
	}
	return best
}
