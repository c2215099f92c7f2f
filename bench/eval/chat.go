package eval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/memory"
)

// ChatReport is what trial sets gave.
type ChatReport struct {
	Models  Models
	Facts   ChatFacts
	TopK    int
	Persons []string
	Systems []string      // in order of the table
	Probes  []ChatOutcome // in order of person, message and system
}

// The systems that are compared.
const (
	ChatLoci   = "loci"
	ChatBM25   = "BM25 by clause"
	ChatCosine = "plain cosine"
)

// ChatOutcome is what one message got from one system.
type ChatOutcome struct {
	System     string `json:"system"`
	Person     string `json:"person"`
	Message    string `json:"message"`               // its id
	Around     string `json:"around,omitempty"`      // the surrounding; "" for a bare message
	Unrelated  bool   `json:"unrelated,omitempty"`   // the message needs no memory
	Answered   bool   `json:"answered"`              // an answer is in the block
	Hits       int    `json:"hits"`                  // without the core
	Helped     int    `json:"helped"`                // of these
	Core       int    `json:"core,omitempty"`        // memories that stand in the block without a search
	BlockBytes int    `json:"block_bytes,omitempty"` // of Loci's
}

// Chat runs trial sets: it records each person's chats through the proxy, and then sends every
// message, bare and in each surrounding, without recording it.
func Chat(ctx context.Context, persons []ChatPerson, o ChatOptions) (report ChatReport, err error) {
	if o.Facts == "" {
		o.Facts = FactsByRules
	}
	report = ChatReport{
		Facts: o.Facts, TopK: core.Options{TopK: o.Config.Recall.TopK}.Most(true), Systems: []string{ChatLoci, ChatBM25},
	}
	if o.Cosine != nil {
		report.Systems = append(report.Systems, ChatCosine)
	}
	trial, err := openChatTrial(ctx, o)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, trial.close()) }()
	report.Models = ModelsOf(trial.loci.Config())
	for _, p := range persons {
		if err := trial.record(ctx, p); err != nil {
			return report, fmt.Errorf("%s: %w", p.ID, err)
		}
		memories, err := trial.memories(ctx, p)
		if err != nil {
			return report, fmt.Errorf("%s: %w", p.ID, err)
		}
		run := &chatRun{trial: trial, person: p, memories: memories, topK: report.TopK}
		contents := make([]string, len(memories))
		for i, m := range memories {
			contents[i] = m.content
		}
		run.bm25.add(contents...)
		if o.Cosine != nil {
			run.cosine = &plainCosine{embedder: o.Cosine}
			if err := run.cosine.add(ctx, contents...); err != nil {
				return report, fmt.Errorf("%s: %w", p.ID, err)
			}
		}
		if err := run.all(ctx); err != nil {
			return report, fmt.Errorf("%s: %w", p.ID, err)
		}
		report.Persons, report.Probes = append(report.Persons, p.ID), append(report.Probes, run.out...)
	}
	return report, nil
}

// chatRun is one person's messages on their way through the systems.
type chatRun struct {
	trial    *chatTrial
	person   ChatPerson
	memories []chatMemory
	bm25     bm25
	cosine   *plainCosine // nil: none
	topK     int
	out      []ChatOutcome
}

func (r *chatRun) all(ctx context.Context) error {
	for _, n := range r.person.Needed {
		if err := r.probe(ctx, ChatOutcome{Message: n.ID}, n.Message, n.Answers, n.Gold); err != nil {
			return err
		}
		for _, s := range r.person.Surroundings {
			for _, place := range s.Places {
				if err := r.probe(ctx, ChatOutcome{Message: n.ID, Around: s.kind() + " " + place}, s.around(n.Message, place), n.Answers, n.Gold); err != nil {
					return err
				}
			}
		}
	}
	for _, u := range r.person.Unrelated {
		if err := r.probe(ctx, ChatOutcome{Message: u.ID, Unrelated: true}, u.Message, nil, nil); err != nil {
			return err
		}
		for _, s := range r.person.Surroundings {
			for _, place := range s.Places {
				if around := s.kind() + " " + place; strings.HasPrefix(around, "small talk 120") {
					if err := r.probe(ctx, ChatOutcome{Message: u.ID, Around: around, Unrelated: true}, s.around(u.Message, place), nil, nil); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// probe asks every system with one message.
func (r *chatRun) probe(ctx context.Context, o ChatOutcome, message string, answers, gold []string) error {
	o.Person = r.person.ID
	block, hits, err := r.trial.send(ctx, r.person.ID, "read", "", []chatMessage{{memory.RoleUser, message}}, "ok")
	if err != nil {
		return fmt.Errorf("message %s: %w", o.Message, err)
	}
	of := o
	of.System, of.BlockBytes, of.Answered = ChatLoci, len(block), len(answers) > 0 && holds(block, answers)
	for _, h := range hits {
		if h.Core {
			of.Core++
			continue
		}
		of.Hits++
		i := slices.IndexFunc(r.memories, func(m chatMemory) bool { return m.id == h.ID })
		if holds(h.Content, answers) || i >= 0 && r.memories[i].isFrom(gold) {
			of.Helped++
		}
	}
	r.out = append(r.out, of)
	r.rival(o, ChatBM25, r.bm25.bestByClause(message, r.topK), answers, gold)
	if r.cosine == nil {
		return nil
	}
	best, err := r.cosine.best(ctx, message, r.topK)
	if err != nil {
		return fmt.Errorf("message %s: %w", o.Message, err)
	}
	r.rival(o, ChatCosine, best, answers, gold)
	return nil
}

// rival adds what one of the others found.
func (r *chatRun) rival(o ChatOutcome, system string, places []int, answers, gold []string) {
	o.System, o.Hits = system, len(places)
	for _, i := range places {
		m := r.memories[i]
		found := holds(m.content, answers)
		o.Answered = o.Answered || found
		if found || m.isFrom(gold) {
			o.Helped++
		}
	}
	r.out = append(r.out, o)
}

func (m chatMemory) isFrom(gold []string) bool {
	return slices.ContainsFunc(m.from, func(id string) bool { return slices.Contains(gold, id) })
}

// ChatFigure is one measure, for programs.
type ChatFigure struct {
	System string  `json:"system"`
	Person string  `json:"person,omitempty"` // "" for all
	Metric string  `json:"metric"`
	Around string  `json:"around,omitempty"`
	Value  float64 `json:"value"`
	N      int     `json:"n"`
	Facts  string  `json:"facts"`
	Models
	Version string `json:"version"`
}

// The measures of a chat.
const (
	chatAnswered  = "answered"                // messages with an answer in the block
	chatLost      = "lost"                    // messages answered bare, and not in a surrounding
	chatUnrelated = "unrelated with memory"   // messages that need none and get some
	chatEach      = "hits of these"           // on average, of those that get some
	chatHelped    = "hits that help"          // share, of the bare messages that need memory
	chatHelpedAll = "hits that help, all"     // share, of these in their surroundings too
	chatPerNeeded = "hits of a bare message"  // on average
	chatWorst     = "lost, worst surrounding" // the most of lost
	chatCore      = "core, needed"            // bare messages that need memory and get a core
	chatCoreElse  = "core, unrelated"         // messages that need none and get a core
)

// Figures returns every measure, for all persons together and for each.
func (r ChatReport) Figures(version string) []ChatFigure {
	var out []ChatFigure
	for _, person := range append([]string{""}, r.Persons...) {
		for _, system := range r.Systems {
			for _, f := range r.figures(system, person) {
				f.System, f.Person, f.Facts, f.Models, f.Version = system, person, string(r.Facts), r.Models, version
				out = append(out, f)
			}
		}
	}
	return out
}

// arounds returns the surroundings in the order of the set.
func (r ChatReport) arounds() []string {
	var out []string
	for _, o := range r.Probes {
		if o.Around != "" && !slices.Contains(out, o.Around) {
			out = append(out, o.Around)
		}
	}
	return out
}

func (r ChatReport) figures(system, person string) []ChatFigure {
	var bare, around, unrelated, beside []ChatOutcome
	for _, o := range r.Probes {
		switch {
		case o.System != system || person != "" && o.Person != person:
		case o.Unrelated && o.Around != "":
			beside = append(beside, o)
		case o.Unrelated:
			unrelated = append(unrelated, o)
		case o.Around == "":
			bare = append(bare, o)
		default:
			around = append(around, o)
		}
	}
	answered := func(o ChatOutcome) bool { return o.Answered }
	out := []ChatFigure{{Metric: chatAnswered, Value: float64(countChats(bare, answered)), N: len(bare)}}
	worst := ChatFigure{Metric: chatWorst, N: countChats(bare, answered)}
	for _, name := range r.arounds() {
		in := slices.DeleteFunc(slices.Clone(around), func(o ChatOutcome) bool { return o.Around != name })
		lost := countChats(bare, func(o ChatOutcome) bool {
			return o.Answered && slices.ContainsFunc(in, func(a ChatOutcome) bool {
				return a.Person == o.Person && a.Message == o.Message && !a.Answered
			})
		})
		out = append(out,
			ChatFigure{Metric: chatAnswered, Around: name, Value: float64(countChats(in, answered)), N: len(in)},
			ChatFigure{Metric: chatLost, Around: name, Value: float64(lost), N: worst.N})
		worst.Value = max(worst.Value, float64(lost))
	}
	cored := func(o ChatOutcome) bool { return o.Core > 0 }
	given := slices.DeleteFunc(slices.Clone(unrelated), func(o ChatOutcome) bool { return o.Hits == 0 })
	return append(out, worst,
		ChatFigure{Metric: chatUnrelated, Value: float64(len(given)), N: len(unrelated)},
		ChatFigure{Metric: chatUnrelated, Around: "small talk 120 beside", Value: float64(countChats(beside, func(o ChatOutcome) bool { return o.Hits > 0 })), N: len(beside)},
		ChatFigure{Metric: chatEach, Value: quotient(sumHits(given), len(given)), N: len(given)},
		ChatFigure{Metric: chatPerNeeded, Value: quotient(sumHits(bare), len(bare)), N: len(bare)},
		ChatFigure{Metric: chatHelped, Value: quotient(sumHelped(bare), sumHits(bare)), N: sumHits(bare)},
		ChatFigure{Metric: chatHelpedAll, Value: quotient(sumHelped(bare)+sumHelped(around), sumHits(bare)+sumHits(around)), N: sumHits(bare) + sumHits(around)},
		ChatFigure{Metric: chatCore, Value: float64(countChats(bare, cored)), N: len(bare)},
		ChatFigure{Metric: chatCoreElse, Value: float64(countChats(unrelated, cored)), N: len(unrelated)})
}

func countChats(of []ChatOutcome, is func(ChatOutcome) bool) (n int) {
	for _, o := range of {
		if is(o) {
			n++
		}
	}
	return n
}

func sumHits(of []ChatOutcome) (n int) {
	for _, o := range of {
		n += o.Hits
	}
	return n
}

func sumHelped(of []ChatOutcome) (n int) {
	for _, o := range of {
		n += o.Helped
	}
	return n
}

// quotient is 0 where there is nothing to divide by.
func quotient(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// String is one table: a row for each measure, a column for each system.
func (r ChatReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s; facts: %s; top_k %d\n%s\n", strings.Join(r.Persons, ", "), r.Facts, r.TopK, r.Models.line())
	fmt.Fprintf(&b, "%-36s", "")
	columns := make([][]ChatFigure, len(r.Systems))
	for i, s := range r.Systems {
		fmt.Fprintf(&b, " %16s", s)
		columns[i] = r.figures(s, "")
	}
	b.WriteByte('\n')
	for row := range columns[0] {
		f := columns[0][row]
		if f.Metric == chatLost {
			continue // the row before shows it
		}
		name := f.Metric
		switch {
		case f.Metric == chatAnswered && f.Around == "":
			name = "answer in the prompt, bare"
		case f.Around != "":
			name = "  " + f.Around
		}
		fmt.Fprintf(&b, "%-36s", name)
		for _, column := range columns {
			fmt.Fprintf(&b, " %16s", column[row].cell())
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// cell is the value as the table shows it.
func (f ChatFigure) cell() string {
	switch f.Metric {
	case chatEach, chatPerNeeded:
		return fmt.Sprintf("%.1f", f.Value)
	case chatHelped, chatHelpedAll:
		return fmt.Sprintf("%.0f %% of %d", 100*f.Value, f.N)
	}
	return fmt.Sprintf("%.0f of %d", f.Value, f.N)
}

// Missed lists messages without an answer, and unrelated ones with memory, of Loci.
func (r ChatReport) Missed() []ChatOutcome {
	return slices.DeleteFunc(slices.Clone(r.Probes), func(o ChatOutcome) bool {
		return o.System != ChatLoci || !o.Unrelated && o.Answered || o.Unrelated && o.Hits == 0
	})
}
