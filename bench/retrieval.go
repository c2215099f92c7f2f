package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Target is what is measured: the packages alone, or a server over HTTP.
type Target interface {
	// Ingest stores turns of one owner, in order.
	Ingest(ctx context.Context, owner memory.Owner, turns []Turn) error
	// Search returns the k best turns, best first.
	Search(ctx context.Context, owner memory.Owner, question string, k int) ([]Found, error)
}

// Turn is one message of a data set.
type Turn struct {
	Ref     string // the data set's own id, unique within an owner
	Session string // becomes the conversation
	Role    memory.Role
	Name    string // of the speaker, "" for user and assistant
	Content string
	At      time.Time
}

// Found is a turn that a target found.
type Found struct {
	Ref   string
	Score float64
}

// Question is asked of one owner's turns.
type Question struct {
	Text     string
	Category string
	Gold     []string // refs of the turns, or their sessions, that answer; none: nothing does
	Before   int      // the first so many turns are known when it is asked; 0: all
}

// Conversation is what one owner said and is asked.
type Conversation struct {
	Name      string
	Turns     []Turn
	Questions []Question
	Sessions  bool // gold is sessions; the best turn of each stands for it
}

// Dataset is a named list of conversations.
type Dataset struct {
	Name          string
	Conversations []Conversation
}

// How deep results are looked at.
const (
	recallAt = 10
	mrrAt    = 20
	// sessionDepth turns are fetched where sessions are ranked by their best turn.
	sessionDepth = 200
)

// Measure is one score of a group of questions.
type Measure struct {
	Questions int
	Recall    float64 // fraction of the gold among the first 10
	MRR       float64 // 1 / rank of the first gold among the first 20
}

// Report is how a target did on a data set.
type Report struct {
	Dataset    string
	All        Measure
	Categories map[string]Measure
	// Refusal is how well the best score tells a conversation's own questions from
	// another's: the area under the curve, 0.5 for chance.
	Refusal float64
	// Answered is the share of own questions for which anything was found, Refused
	// that of another's questions for which nothing was.
	Answered, Refused float64
}

// String returns the report as a small table.
func (r Report) String() string {
	var b strings.Builder
	line := func(name string, m Measure) {
		fmt.Fprintf(&b, "%-28s %5d  recall@10 %.3f  MRR@20 %.3f\n", name, m.Questions, m.Recall, m.MRR)
	}
	line(r.Dataset, r.All)
	for _, name := range keys(r.Categories) {
		line("  "+name, r.Categories[name])
	}
	fmt.Fprintf(&b, "%-28s        AUC %.3f, answered %.3f, others refused %.3f\n", "  refusal", r.Refusal, r.Answered, r.Refused)
	return b.String()
}

// Retrieval ingests a data set into a target, asks its questions and scores what
// is found. Every conversation is an owner of its own.
func Retrieval(ctx context.Context, target Target, set Dataset) (Report, error) {
	report := Report{Dataset: set.Name, Categories: map[string]Measure{}}
	var own []float64
	for i, c := range set.Conversations {
		owner := ownerOf(set, i)
		known := 0
		for _, q := range c.Questions {
			upTo := q.Before
			if upTo == 0 {
				upTo = len(c.Turns)
			}
			if upTo > known {
				if err := target.Ingest(ctx, owner, c.Turns[known:upTo]); err != nil {
					return report, fmt.Errorf("ingest %s %s: %w", set.Name, c.Name, err)
				}
				known = upTo
			}
			found, err := target.Search(ctx, owner, q.Text, depth(c))
			if err != nil {
				return report, fmt.Errorf("search %q: %w", q.Text, err)
			}
			own = append(own, best(found))
			recall, rr := score(distinct(units(c, found)), q.Gold)
			add(&report.All, recall, rr)
			m := report.Categories[q.Category]
			add(&m, recall, rr)
			report.Categories[q.Category] = m
		}
	}
	report.All = report.All.mean()
	for k, m := range report.Categories {
		report.Categories[k] = m.mean()
	}
	others, err := askOthers(ctx, target, set)
	if err != nil {
		return report, err
	}
	report.Refusal = areaUnderCurve(own, others)
	report.Answered, report.Refused = 1-silent(own), silent(others)
	return report, nil
}

func ownerOf(set Dataset, i int) memory.Owner {
	return memory.User(memory.DefaultNamespace, fmt.Sprintf("%s-%d", set.Name, i))
}

func depth(c Conversation) int {
	if c.Sessions {
		return sessionDepth
	}
	return mrrAt
}

func best(found []Found) float64 {
	if len(found) == 0 {
		return 0
	}
	return found[0].Score
}

// units returns what was found in the unit of the gold, in order.
func units(c Conversation, found []Found) []string {
	out := make([]string, len(found))
	session := map[string]string{}
	if c.Sessions {
		for _, t := range c.Turns {
			session[t.Ref] = t.Session
		}
	}
	for i, f := range found {
		out[i] = f.Ref
		if c.Sessions {
			out[i] = session[f.Ref]
		}
	}
	return out
}

// distinct returns list with only the first of equals.
func distinct(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// silent is the share of best scores that are those of finding nothing.
func silent(scores []float64) float64 {
	none := 0
	for _, x := range scores {
		if x == 0 {
			none++
		}
	}
	return float64(none) / float64(max(1, len(scores)))
}

func score(found, gold []string) (recall, reciprocal float64) {
	for rank, ref := range found[:min(len(found), mrrAt)] {
		if !slices.Contains(gold, ref) {
			continue
		}
		if reciprocal == 0 {
			reciprocal = 1 / float64(rank+1)
		}
		if rank < recallAt {
			recall += 1 / float64(len(gold))
		}
	}
	return recall, reciprocal
}

func add(m *Measure, recall, reciprocal float64) {
	m.Questions++
	m.Recall += recall
	m.MRR += reciprocal
}

// mean returns the sums of m by question.
func (m Measure) mean() Measure {
	if m.Questions > 0 {
		m.Recall /= float64(m.Questions)
		m.MRR /= float64(m.Questions)
	}
	return m
}

// askOthers puts every question to the next conversation, its speakers' names
// swapped in, and returns the best scores.
func askOthers(ctx context.Context, target Target, set Dataset) ([]float64, error) {
	var out []float64
	for i, c := range set.Conversations {
		j := (i + 1) % len(set.Conversations)
		if j == i {
			break
		}
		rename := swap(speakers(c), speakers(set.Conversations[j]))
		for _, q := range c.Questions {
			found, err := target.Search(ctx, ownerOf(set, j), rename.Replace(q.Text), mrrAt)
			if err != nil {
				return nil, fmt.Errorf("search %q: %w", q.Text, err)
			}
			out = append(out, best(found))
		}
	}
	return out, nil
}

func speakers(c Conversation) []string {
	var out []string
	for _, t := range c.Turns {
		if t.Name != "" && !slices.Contains(out, t.Name) {
			out = append(out, t.Name)
		}
	}
	return out
}

func swap(from, to []string) *strings.Replacer {
	var pairs []string
	for i := range min(len(from), len(to)) {
		pairs = append(pairs, from[i], to[i])
	}
	return strings.NewReplacer(pairs...)
}

// areaUnderCurve returns the chance that a random one of high is above a random
// one of low, ties counting half.
func areaUnderCurve(high, low []float64) float64 {
	if len(high) == 0 || len(low) == 0 {
		return 0
	}
	low = slices.Sorted(slices.Values(low))
	var sum float64
	for _, x := range high {
		below, _ := slices.BinarySearch(low, x)
		through, _ := slices.BinarySearchFunc(low, x, func(e, x float64) int {
			if e <= x {
				return -1
			}
			return 1
		})
		sum += float64(below) + float64(through-below)/2
	}
	return sum / float64(len(high)) / float64(len(low))
}
