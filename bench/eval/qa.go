package eval

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// The systems that retrieve for `locibench qa`.
const (
	QALoci   = "loci"
	QABM25   = "bm25"
	QACosine = "cosine"
)

// QASystems are all of them, in the order of reports.
var QASystems = []string{QALoci, QABM25, QACosine}

// QABudgets are the budgets in tokens of context that are measured unless others are named.
var QABudgets = []int{250, 700, 1500, 5000}

// QAOptions say what is retrieved.
type QAOptions struct {
	Budgets []int             // tokens of context
	Targets map[string]Target // by system
	Workers int               // at once; 0: two for each processor
}

// QATask is one question to one system within one budget, and the context that was found for it.
type QATask struct {
	Row     QARow
	Context string
	today   string // when it is asked; "": not known
}

// QARow is what came of a question: its evidence in the context and, where models were asked,
// its answer. Rows are kept as JSON lines, a line each.
type QARow struct {
	Set          string `json:"set"`
	Conversation string `json:"conversation"`
	ID           string `json:"question_id"`
	Question     string `json:"question"`
	Category     string `json:"category,omitempty"`
	Unanswerable bool   `json:"unanswerable,omitempty"`
	Answer       string `json:"answer"` // the data set's

	System        string  `json:"system"`
	Budget        int     `json:"budget"` // tokens
	ContextTokens int     `json:"context_tokens"`
	Evidence      float64 `json:"evidence"` // share of the gold in the context; 0 for unanswerable
	Models

	AnswerModel       string  `json:"answer_model,omitempty"`
	JudgeModel        string  `json:"judge_model,omitempty"`
	Response          string  `json:"response,omitempty"`
	Refused           bool    `json:"refused"` // the response says that it does not know
	Score             int     `json:"score"`   // 1: right
	InputTokens       int     `json:"input_tokens"`
	OutputTokens      int     `json:"output_tokens"`
	JudgeInputTokens  int     `json:"judge_input_tokens"`
	JudgeOutputTokens int     `json:"judge_output_tokens"`
	Estimated         bool    `json:"tokens_estimated,omitempty"` // a server did not count them
	Latency           float64 `json:"latency_seconds"`            // of the answer, retries included
	Cost              float64 `json:"cost"`
	Error             string  `json:"error,omitempty"` // no score: why
	Version           string  `json:"version,omitempty"`
}

// key is what a row is the answer to: what was asked, from which context, and whom.
func (r QARow) key() QARow {
	return QARow{
		Set: r.Set, Conversation: r.Conversation, ID: r.ID, Question: r.Question, Answer: r.Answer,
		System: r.System, Budget: r.Budget, Models: r.Models, AnswerModel: r.AnswerModel, JudgeModel: r.JudgeModel,
	}
}

// heldBackLoCoMo are the conversations of LoCoMo that nothing is tuned on. The others are the
// development half.
var heldBackLoCoMo = []string{"conv-30", "conv-42", "conv-44", "conv-48", "conv-50"}

// OpenQA is [Open] for one half of LoCoMo: the development half or the one held back. Other data
// sets are whole and have nothing held back.
func OpenQA(format string, heldBack bool, limit int, files ...string) (Dataset, error) {
	if format != "locomo" {
		if heldBack {
			return Dataset{}, memory.Errorf(memory.Invalid, "--held-back: only locomo has a half held back")
		}
		return Open(format, limit, files...)
	}
	set, err := Open(format, 0, files...)
	if err != nil {
		return set, err
	}
	set.Conversations = slices.DeleteFunc(set.Conversations, func(c Conversation) bool {
		return slices.Contains(heldBackLoCoMo, c.Name) != heldBack
	})
	if len(set.Conversations) == 0 {
		return set, memory.Errorf(memory.Invalid, "%s has no conversation of this half; the other is with --held-back or without it", strings.Join(files, ", "))
	}
	if limit > 0 {
		set.Conversations = set.Conversations[:min(limit, len(set.Conversations))]
	}
	return set, nil
}

// Retrieve has each system find what it can for each question, and fills a context with it for
// each budget. A context is lines of turns, each with its date and speaker, and the same for all
// systems: the best first as long as a line fits, then in the order in which they were said.
func Retrieve(ctx context.Context, set Dataset, o QAOptions) ([]QATask, error) {
	if o.Workers == 0 {
		o.Workers = 2 * runtime.GOMAXPROCS(0)
	}
	var tasks []QATask
	for _, system := range QASystems {
		target := o.Targets[system]
		if target == nil {
			continue
		}
		r := &retrieval{target: target, set: set, o: RetrievalOptions{Workers: o.Workers}}
		if err := r.runAll(ctx, r.scoped(), 1); err != nil {
			return nil, fmt.Errorf("%s: %w", system, err)
		}
		notes := map[int]notes{}
		for i, p := range slices.Concat(r.own, r.unanswerable) {
			c := set.Conversations[p.conversation]
			if _, ok := notes[p.conversation]; !ok {
				notes[p.conversation] = notesOf(c)
			}
			row := QARow{
				Set: set.Name, Conversation: c.Name, ID: p.question.ID, Question: p.question.Text, Category: p.question.Category,
				Unanswerable: i >= len(r.own), Answer: p.question.Answer, System: system,
			}
			for _, row.Budget = range o.Budgets {
				t := QATask{Row: row}
				if !p.question.At.IsZero() {
					t.today = p.question.At.Format(qaDate)
				}
				in := notes[p.conversation].fill(p.found, row.Budget)
				t.Context, t.Row.ContextTokens = notes[p.conversation].text(in)
				t.Row.Evidence = c.share(p.question, in)
				tasks = append(tasks, t)
			}
		}
	}
	return tasks, nil
}

const qaDate = "2 January 2006"

// notes are the turns of a conversation as lines of a context.
type notes struct {
	place  map[string]int // of a turn, by its ref
	lines  []string
	tokens []int
}

func notesOf(c Conversation) notes {
	n := notes{place: map[string]int{}}
	for i, t := range c.Turns {
		line := t.said() + "\n"
		if !t.At.IsZero() {
			line = "[" + t.At.Format(qaDate) + "] " + line
		}
		n.place[t.Ref] = i
		n.lines, n.tokens = append(n.lines, line), append(n.tokens, text.Tokens(line))
	}
	return n
}

// said is a turn on one line, with who said it.
func (t Turn) said() string {
	who := t.Name
	if who == "" {
		who = string(t.Role)
	}
	return who + ": " + strings.Join(strings.Fields(t.Content), " ")
}

// fill returns the places of what fits into a budget, best first, in the order in which it was
// said. What does not fit gives way to shorter turns after it.
func (n notes) fill(found []Found, budget int) []int {
	var in []int
	for _, f := range found {
		i, ok := n.place[f.Ref]
		if ok && n.tokens[i] <= budget {
			budget -= n.tokens[i]
			in = append(in, i)
		}
	}
	slices.Sort(in)
	return in
}

func (n notes) text(in []int) (context string, tokens int) {
	var b strings.Builder
	for _, i := range in {
		b.WriteString(n.lines[i])
		tokens += n.tokens[i]
	}
	return b.String(), tokens
}

// share returns which part of a question's gold some turns are, or their sessions where the gold
// is sessions.
func (c Conversation) share(q Question, in []int) float64 {
	gold, sessions := q.Gold, c.Sessions
	if len(gold) == 0 {
		gold, sessions = q.Sessions, true
	}
	there := map[string]bool{}
	for _, i := range in {
		if sessions {
			there[c.Turns[i].Session] = true
		} else {
			there[c.Turns[i].Ref] = true
		}
	}
	n := 0
	for _, g := range gold {
		n += count(there[g])
	}
	return quotient(n, len(gold))
}

// Rival is a [Target] that ranks each turn alone, as the line that a reader sees but for its date:
// by BM25 or, with an embedder, by plain cosine.
type Rival struct {
	Embedder memory.Embedder // nil: BM25

	mu     sync.Mutex // guards owners
	owners map[memory.Owner]*rivalOwner
}

// rivalOwner is what one owner said.
type rivalOwner struct {
	refs   []string
	bm25   bm25
	cosine plainCosine
}

func (r *Rival) owner(owner memory.Owner) *rivalOwner {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.owners == nil {
		r.owners = map[memory.Owner]*rivalOwner{}
	}
	if r.owners[owner] == nil {
		r.owners[owner] = &rivalOwner{cosine: plainCosine{embedder: r.Embedder}}
	}
	return r.owners[owner]
}

// Ingest implements [Target].
func (r *Rival) Ingest(ctx context.Context, owner memory.Owner, turns []Turn) error {
	o := r.owner(owner)
	texts := make([]string, len(turns))
	for i, t := range turns {
		o.refs, texts[i] = append(o.refs, t.Ref), t.said()
	}
	if r.Embedder != nil {
		return o.cosine.add(ctx, texts...)
	}
	o.bm25.add(texts...)
	return nil
}

// Search implements [Target]. Scores are left out.
func (r *Rival) Search(ctx context.Context, owner memory.Owner, question string, k int) (out []Found, err error) {
	o := r.owner(owner)
	var places []int
	if r.Embedder == nil {
		places = bestOf(o.bm25.scores(question), k, 0)
	} else if places, err = o.cosine.best(ctx, question, k); err != nil {
		return nil, err
	}
	for _, i := range places {
		out = append(out, Found{Ref: o.refs[i]})
	}
	return out, nil
}
