package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// step is one call in a random history. Ids and words are drawn from few, so that
// steps meet. Exactly one of the pointers is set.
type step struct {
	owner  memory.Owner
	wait   time.Duration // moves the clock first, sometimes back
	apply  *applyStep
	append *appendStep
	queue  *queueStep
	read   *readStep
}

type applyStep struct {
	run     string // "": one of its own
	changes []changeStep
	learned []string
	vectors []memory.Vector
	queued  []string // jobs
	lease   string   // the job it completes, whoever's it is
	undo    bool     // take it back at once
}

type changeStep struct {
	action memory.Action
	what   string // fact, link, profile, relation, summary, turn, context or conversation
	which  int
	words  int
	status memory.Status
	scope  memory.Scope // without its owner
	years  int          // of validity
	base   int64        // 0: none; otherwise 1 + how far off the present version
	fits   bool         // the player takes another action where this one cannot be taken
}

type appendStep struct {
	conversation string
	first, n     int
	title        string
	marks        []changeStep
	run          string
	jobs         []string
	vectors      bool
	path         bool // its turns are to be the end of it
}

type queueStep struct {
	verb    string // claim, extend, finish or requeue
	job     string
	kinds   []memory.JobKind
	lease   time.Duration
	outcome memory.Outcome
}

type readStep struct {
	verb    string // list, turns, changes, since or all
	query   memory.Query
	turns   memory.TurnQuery
	changes memory.ChangeQuery
	after   int64
}

var (
	sentences = []string{"Ana lives in Berlin", "Ana LIVES in Łódź", "100% of plan_b", ""}
	texts     = []string{"", "", "ana", "łódź", "%", "_"}
	jobNames  = []string{"job a", "job b", "job c"}
	// lastClaimed stands for the job that was claimed last.
	leaseNames = append([]string{lastClaimed, lastClaimed, lastClaimed, lastClaimed, lastClaimed, lastClaimed}, jobNames...)
	jobKinds   = []memory.JobKind{memory.JobLearn, memory.JobEmbed}
	threads    = []string{"c", "d"}
)

const (
	few         = 4 // things of each kind
	lastClaimed = "the last"
)

func drawStep(t *rapid.T) step {
	s := step{
		owner: rapid.SampledFrom(players).Draw(t, "owner"),
		wait:  rapid.SampledFrom([]time.Duration{0, 0, time.Microsecond, time.Second, time.Hour, -time.Minute}).Draw(t, "wait"),
	}
	switch rapid.SampledFrom([]string{"apply", "apply", "apply", "append", "append", "queue", "queue", "read"}).Draw(t, "call") {
	case "apply":
		s.apply = drawApply(t)
	case "append":
		s.append = drawAppend(t)
	case "queue":
		s.queue = drawQueue(t)
	default:
		s.read = drawRead(t)
	}
	return s
}

func drawApply(t *rapid.T) *applyStep {
	s := &applyStep{
		run:     rapid.SampledFrom([]string{"", "", "", "", "again"}).Draw(t, "run"),
		changes: rapid.SliceOfN(rapid.Custom(drawChange), 0, 4).Draw(t, "changes"),
		queued:  rapid.SliceOfN(rapid.SampledFrom(jobNames), 0, 1).Draw(t, "jobs"),
		undo:    rapid.IntRange(0, 3).Draw(t, "undo") == 3,
	}
	if rapid.IntRange(0, 4).Draw(t, "learns") == 4 {
		s.learned = []string{turnName(rapid.IntRange(0, few).Draw(t, "turn"))}
	}
	if rapid.IntRange(0, 3).Draw(t, "embeds") == 3 {
		which := rapid.IntRange(0, few).Draw(t, "memory")
		for _, id := range []string{factName(which), turnName(which)} {
			s.vectors = append(s.vectors, memtest.Vector(id, rapid.SampledFrom(sentences).Draw(t, "words")))
		}
	}
	if rapid.IntRange(0, 5).Draw(t, "leased") == 5 {
		s.lease = rapid.SampledFrom(leaseNames).Draw(t, "lease")
	}
	return s
}

func drawChange(t *rapid.T) changeStep {
	s := changeStep{
		what:  rapid.SampledFrom([]string{"fact", "fact", "fact", "link", "profile", "relation", "summary", "turn", "context", "conversation"}).Draw(t, "what"),
		which: rapid.IntRange(0, few).Draw(t, "which"),
		words: rapid.IntRange(0, len(sentences)-1).Draw(t, "words"),
		base:  rapid.SampledFrom([]int64{0, 0, 0, 1, 1, 1, 1, 2}).Draw(t, "base"),
		fits:  rapid.IntRange(0, 7).Draw(t, "fits") < 7,
	}
	actions := []memory.Action{memory.ActionAdd, memory.ActionAdd, memory.ActionUpdate, memory.ActionRetire, memory.ActionRestore}
	statuses := []memory.Status{memory.Active, memory.Active, memory.Retired}
	switch s.what {
	case "fact":
		actions = append(actions, memory.ActionAdd, memory.ActionReplace, memory.ActionReinforce, memory.ActionUndo)
		statuses = append(statuses, memory.Active, memory.Pending, memory.Superseded)
		s.scope.Project = rapid.SampledFrom([]string{"", "", "p"}).Draw(t, "project")
		s.years = rapid.IntRange(0, 2).Draw(t, "years")
	case "link":
		actions = append(actions, memory.ActionLink, memory.ActionLink, memory.ActionUnlink)
	case "conversation":
		actions = actions[2:]
	case "turn":
		actions = actions[2:]
		statuses = append(statuses, memory.Replaced)
	}
	s.action = rapid.SampledFrom(actions).Draw(t, "action")
	s.status = rapid.SampledFrom(statuses).Draw(t, "status")
	return s
}

func drawAppend(t *rapid.T) *appendStep {
	s := &appendStep{
		conversation: rapid.SampledFrom(threads).Draw(t, "conversation"),
		first:        rapid.IntRange(0, few).Draw(t, "first"),
		n:            rapid.IntRange(0, 2).Draw(t, "turns"),
		title:        rapid.SampledFrom([]string{"", "title"}).Draw(t, "title"),
		jobs:         rapid.SliceOfN(rapid.SampledFrom(jobNames), 0, 2).Draw(t, "jobs"),
		vectors:      rapid.Bool().Draw(t, "vectors"),
		path:         rapid.IntRange(0, 2).Draw(t, "path") == 2,
	}
	if rapid.IntRange(0, 2).Draw(t, "marked") == 2 {
		mark := drawChange(t)
		mark.what, mark.action = "turn", memory.ActionUpdate
		mark.status = rapid.SampledFrom([]memory.Status{memory.Active, memory.Replaced}).Draw(t, "mark")
		s.marks, s.run = []changeStep{mark}, rapid.SampledFrom([]string{"mark", "again"}).Draw(t, "run")
	}
	return s
}

func drawQueue(t *rapid.T) *queueStep {
	return &queueStep{
		verb:  rapid.SampledFrom([]string{"claim", "claim", "claim", "claim", "extend", "finish", "finish", "requeue"}).Draw(t, "verb"),
		job:   rapid.SampledFrom(leaseNames).Draw(t, "job"),
		kinds: rapid.SliceOfN(rapid.SampledFrom(jobKinds), 1, 2).Draw(t, "kinds"),
		lease: rapid.SampledFrom([]time.Duration{24 * time.Hour, 24 * time.Hour, time.Second}).Draw(t, "lease"),
		outcome: rapid.SampledFrom([]memory.Outcome{
			{Done: true}, {Cause: "no"}, {Park: true, Cause: "never"}, {RetryAt: memtest.Epoch.Add(time.Minute)},
		}).Draw(t, "outcome"),
	}
}

func drawRead(t *rapid.T) *readStep {
	at := memory.At{
		AsOf:    rapid.SampledFrom([]time.Time{{}, {}, memtest.Epoch, memtest.Epoch.Add(time.Second), memtest.Epoch.Add(time.Hour)}).Draw(t, "as of"),
		ValidAt: rapid.SampledFrom([]time.Time{{}, {}, memtest.Epoch.AddDate(-1, 0, 0), memtest.Epoch.AddDate(1, 0, 0)}).Draw(t, "valid at"),
	}
	statuses := rapid.SampledFrom([][]memory.Status{nil, nil, {memory.Retired}, {memory.Active, memory.Pending, memory.Replaced}}).Draw(t, "statuses")
	return &readStep{
		verb: rapid.SampledFrom([]string{"list", "list", "turns", "changes", "since", "all"}).Draw(t, "verb"),
		query: memory.Query{
			Kinds:        rapid.SampledFrom([][]memory.Kind{nil, allKinds, {memory.KindTurn}}).Draw(t, "kinds"),
			Statuses:     statuses,
			Project:      rapid.SampledFrom([]string{"", "", "p"}).Draw(t, "project"),
			Conversation: rapid.SampledFrom([]string{"", "", "c"}).Draw(t, "conversation"),
			Text:         rapid.SampledFrom(texts).Draw(t, "text"),
			At:           at,
			Limit:        rapid.IntRange(0, 3).Draw(t, "limit"),
		},
		turns: memory.TurnQuery{
			Conversation: rapid.SampledFrom([]string{"", "c"}).Draw(t, "thread"),
			Unlearned:    rapid.Bool().Draw(t, "unlearned"),
			Statuses:     statuses,
			AsOf:         at.AsOf,
			Last:         rapid.IntRange(0, 2).Draw(t, "last"),
		},
		changes: memory.ChangeQuery{
			Fact:   rapid.SampledFrom([]string{"", factName(0), factName(1)}).Draw(t, "fact"),
			Action: rapid.SampledFrom([]memory.Action{"", memory.ActionAdd}).Draw(t, "action"),
			After:  at.AsOf,
			Limit:  rapid.IntRange(0, 2).Draw(t, "page"),
		},
		after: rapid.Int64Range(0, 12).Draw(t, "after"),
	}
}

func factName(i int) string { return memtest.ID(fmt.Sprint("fact ", i)) }

// turnName names the same turn for all owners, in the first conversation or the
// second.
func turnName(i int) string { return memtest.ID(fmt.Sprint("turn ", i)) }

func (s changeStep) id(owner memory.Owner) string {
	switch s.what {
	case "link":
		return memtest.ID(fmt.Sprint("linked ", s.which))
	case "summary":
		return memtest.ID(fmt.Sprint("summary ", s.which))
	case "turn":
		return turnName(s.which)
	case "context":
		return memtest.ID(fmt.Sprint("context ", s.which))
	case "conversation":
		return threads[s.which%2]
	}
	return factName(s.which)
}

// change returns the change for an owner. Its words depend on the step alone, so
// that facts of one scope say the same now and then.
func (s changeStep) change(owner memory.Owner) memory.Change {
	words, other := sentences[s.words], otherStatus(s.status)
	switch s.what {
	case "link":
		l := memtest.Link(owner, s.fact(team))
		l.Fact.ID, l.Status = s.id(owner), other
		return memtest.Change(s.action, l)
	case "profile":
		p := memtest.Profile(owner, fmt.Sprint("key ", s.which), words)
		p.Status = other
		return memtest.Change(s.action, p)
	case "relation":
		e := memtest.Relation(owner, factName(s.which), factName(s.words), memory.Refines)
		e.Status = other
		return memtest.Change(s.action, e)
	case "summary":
		m := memtest.Summary(owner, threads[s.which%2], words)
		m.ID, m.Status = s.id(owner), other
		return memtest.Change(s.action, m)
	case "turn":
		return memtest.TurnMark(s.action, s.id(owner), s.status)
	case "context":
		c := memtest.Context(owner, fmt.Sprint("title ", s.which), words)
		c.ID, c.Status = s.id(owner), other
		return memtest.Change(s.action, c)
	case "conversation":
		return memtest.Change(s.action, memory.ConversationMark{ID: s.id(owner), Title: words, Contexts: sentences[:s.which], Rules: words, Status: other})
	}
	return memtest.Change(s.action, s.fact(owner))
}

func otherStatus(s memory.Status) memory.Status {
	if s == memory.Active {
		return s
	}
	return memory.Retired
}

func (s changeStep) fact(owner memory.Owner) memory.Fact {
	f := memtest.Fact(owner, sentences[s.words])
	f.ID, f.Status, f.Scope.Project = s.id(owner), s.status, s.scope.Project
	f.CreatedAt = memtest.Epoch.Add(time.Duration(s.which/2) * time.Hour)
	f.ValidFrom = memtest.Epoch.AddDate(-s.years, 0, 0)
	if s.status == memory.Superseded {
		f.ValidTo = memtest.Epoch
	}
	if s.what == "link" {
		f.Scope.Project = ""
	}
	f.Provenance.Conversation = threads[s.which%2]
	return f
}

func drawnJobs(owner memory.Owner, names []string) []memory.Job {
	var jobs []memory.Job
	for i, name := range names {
		// A name means one job of one owner, so that leases are told apart by it.
		jobs = append(jobs, memory.Job{ID: name, Owner: owner, Kind: jobKinds[i%2], Turns: []string{turnName(i)}})
	}
	return jobs
}

func (s appendStep) batch(owner memory.Owner) memory.Batch {
	b := memory.Batch{Conversation: memtest.Conversation(owner, s.conversation), Run: s.run, Jobs: drawnJobs(owner, s.jobs)}
	b.Conversation.Title = s.title
	b.Conversation.UpdatedAt = memtest.Epoch.Add(time.Duration(s.first) * time.Minute)
	for i := range s.n {
		t := memtest.Turn(owner, s.conversation, s.first+i, []memory.Role{memory.RoleUser, memory.RoleAssistant}[i%2], sentences[(s.first+i)%len(sentences)])
		t.ID = turnName(s.first + i)
		b.Turns = append(b.Turns, t)
		if s.vectors {
			b.Vectors = append(b.Vectors, memtest.Vector(t.ID, t.Content))
		}
	}
	for _, m := range s.marks {
		m.base = 0
		b.Marks = append(b.Marks, m.change(owner))
	}
	if s.path {
		b.Path = &memory.Path{After: turnName(s.first - 1), From: s.first}
		for _, t := range b.Turns {
			b.Path.Turns = append(b.Path.Turns, t.ID)
		}
	}
	return b
}

// compared says how the answers to a step are compared.
func (s step) compared() cmp.Option {
	if s.read != nil && !s.read.query.At.AsOf.IsZero() && (s.read.verb == "list" || s.read.verb == "turns") {
		return ignoreVersions
	}
	return nil
}

func (s step) String() string {
	who := fmt.Sprintf("%v later, %s", s.wait, s.owner.Name())
	switch {
	case s.apply != nil:
		return who + ": " + s.apply.String()
	case s.append != nil:
		return fmt.Sprintf("%s: append %d turns from %d of %s, title %q, jobs %q, vectors %v, path %v, run %q, marks %v",
			who, s.append.n, s.append.first, s.append.conversation, s.append.title, s.append.jobs, s.append.vectors, s.append.path, s.append.run, s.append.marks)
	case s.queue != nil:
		return fmt.Sprintf("%s: %s %s of %q for %v, outcome %+v", who, s.queue.verb, s.queue.job, s.queue.kinds, s.queue.lease, s.queue.outcome)
	}
	switch s.read.verb {
	case "list":
		return fmt.Sprintf("%s: list %+v", who, s.read.query)
	case "turns":
		return fmt.Sprintf("%s: turns %+v", who, s.read.turns)
	case "changes":
		return fmt.Sprintf("%s: changes %+v", who, s.read.changes)
	}
	return fmt.Sprintf("%s: read %s after %d", who, s.read.verb, s.read.after)
}

func (s applyStep) String() string {
	var parts []string
	for _, c := range s.changes {
		parts = append(parts, c.String())
	}
	out := fmt.Sprintf("apply %q: [%s]", s.run, strings.Join(parts, "; "))
	if len(s.queued)+len(s.learned)+len(s.vectors) > 0 || s.lease != "" {
		out += fmt.Sprintf(", jobs %q, learned %q, %d vectors, lease of %q", s.queued, s.learned, len(s.vectors), s.lease)
	}
	if s.undo {
		out += ", then undo"
	}
	return out
}

func (s changeStep) String() string {
	out := fmt.Sprintf("%s %s %d %s %q in %q, base %d", s.action, s.what, s.which, s.status, sentences[s.words], s.scope.Project, s.base)
	if s.fits {
		out += ", or what fits"
	}
	return out
}
