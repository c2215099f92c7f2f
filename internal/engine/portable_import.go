package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/dialog"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/internal/wire"
	"github.com/loci-memory/loci/memory"
)

// imports is the kind of an import's runs; importReason the reason of its changes.
const (
	imports      = "import"
	importReason = "imported"
)

// Import reads a file into an owner's memory, some hundreds of records at a time, each
// batch whole or not at all: what was written stays when it is cut off, and the same
// file again goes on from there, since what is there already is passed over.
//
// What has an id of Loci's own comes back as it was, with its times, status and
// source; where something else stands under that id, that is left as it is and named.
// Others' words become facts of source imported and turns. Secrets are blanked, but in
// what a person wrote or approved; a fact that a live one of its scope says already,
// word for word, is not added twice. Nothing is reconciled: an import supersedes
// nothing.
//
// A record that cannot be read is named by its line and left out, or, if b.Strict,
// ends the import with [memory.Invalid].
func (e *Engine) Import(ctx context.Context, owner memory.Owner, b Bringing, author memory.Author, in io.Reader) (Brought, error) {
	switch e.Paused(ctx, owner) {
	case PauseMemory:
		return Brought{}, memory.Errorf(memory.Conflict, "memory is paused; loci pause none, or PUT /api/pause, takes it off")
	case PauseLearning:
		b.Learn = false
	}
	i := &importer{Bringing: b, e: e, owner: owner, author: author, talks: map[string]*talkIn{}, seen: map[hashIn]bool{}}
	err := reading{
		owner: owner, project: b.Project, bad: i.bad,
		take: func(r record) error { return i.take(ctx, r) },
	}.read(b.Format, in)
	if err == nil || i.out.Broken > 0 && errors.Is(err, memory.Invalid) {
		if flushed := i.flush(ctx); err == nil {
			err = flushed
		}
	}
	if i.out.Jobs > 0 {
		e.Wake()
	}
	if err != nil {
		return i.out, fmt.Errorf("import: %w", err)
	}
	return i.out, nil
}

// importer gathers records into batches.
type importer struct {
	Bringing
	e      *Engine
	owner  memory.Owner
	author memory.Author
	out    Brought

	batch   []record
	bytes   int
	flushes int
	talks   map[string]*talkIn // conversations met, by id; those of earlier batches may be dropped
	seen    map[hashIn]bool    // of a dry run: live facts that it would have added
}

// hashIn is what live facts may not share.
type hashIn struct {
	scope memory.Scope
	hash  string
}

// talkIn is a conversation on its way in.
type talkIn struct {
	memory.Conversation
	line   int
	named  bool           // the file has a line for it
	stored bool           // it is in the store
	path   map[int]string // of one that was stored before: active turns by index
	last   memory.Turn    // of made turns: the one before; of a stored one without path: its end
	known  bool           // last is known
}

// loose is the index of a turn that goes to the end of its conversation.
const loose = -1

func (i *importer) bad(line int, err error) error {
	i.out.Broken++
	if len(i.out.Problems) < maxTroubles {
		i.out.Problems = append(i.out.Problems, Trouble{Line: line, Reason: err.Error()})
	}
	if i.Strict {
		return memory.Errorf(memory.Invalid, "line %d: %w", line, err)
	}
	return nil
}

func (i *importer) conflict(r record, format string, args ...any) {
	i.out.Conflicting++
	if len(i.out.Conflicts) < maxTroubles {
		i.out.Conflicts = append(i.out.Conflicts, Trouble{Line: r.line, Target: r.target(), Reason: fmt.Sprintf(format, args...)})
	}
}

// take checks a record and keeps it for the next batch.
func (i *importer) take(ctx context.Context, r record) error {
	i.out.Read++
	if err := i.fit(&r); err != nil {
		return i.bad(r.line, err)
	}
	i.batch = append(i.batch, r)
	if i.bytes += r.size; len(i.batch) < batchLines && i.bytes < batchBytes {
		return nil
	}
	return i.flush(ctx)
}

// Ids as Loci makes them, and names of conversations, which clients choose.
var idForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$`)

func checkID(name, id string) error {
	if !idForm.MatchString(id) || strings.Contains(id, "..") {
		return memory.Errorf(memory.Invalid, "%s: %.40q is no id of Loci's", name, id)
	}
	return nil
}

func checkName(name, s string, most int) error {
	if len(s) > most || !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return memory.Errorf(memory.Invalid, "%s: %.40q is not a name of at most %d bytes", name, s, most)
	}
	return nil
}

const (
	maxImportName  = 512 // of what only names something: projects, categories
	maxImportTitle = 4096
)

func checkNames(pairs ...string) error {
	for n := 0; n+1 < len(pairs); n += 2 {
		if err := checkName(pairs[n], pairs[n+1], maxImportName); err != nil {
			return err
		}
	}
	return nil
}

// fit makes a record one that stores take, or says why it is none.
func (i *importer) fit(r *record) error {
	switch {
	case r.Conversation != nil:
		return i.fitConversation(r)
	case r.Turn != nil:
		return i.fitTurn(r)
	case r.Fact != nil:
		return i.fitFact(r)
	case r.Summary != nil:
		s := r.Summary
		s.CreatedAt = memory.Time(s.CreatedAt)
		s.Text = i.redact(s.Text)
		if strings.TrimSpace(s.Text) == "" {
			return memory.Errorf(memory.Invalid, "text: is empty")
		}
		if err := checkNames("conversation", s.Scope.Conversation, "project", s.Scope.Project, "agent", s.Scope.Agent, "model", s.Model); err != nil {
			return err
		}
		return checkID("id", s.ID)
	case r.Profile != nil:
		p := r.Profile
		p.UpdatedAt, p.Value = memory.Time(p.UpdatedAt), i.redact(p.Value)
		if strings.HasPrefix(p.Key, ownKeys) {
			return memory.Errorf(memory.Invalid, "key: %.40q is a setting of Loci's own", p.Key)
		}
		if p.Key == "" {
			return memory.Errorf(memory.Invalid, "key: is empty")
		}
		return checkName("key", p.Key, maxImportName)
	}
	x := r.Relation
	x.CreatedAt = memory.Time(x.CreatedAt)
	if !slices.Contains([]memory.RelationKind{memory.SameSubject, memory.Refines, memory.Contradicts, memory.Follows}, x.Kind) {
		return memory.Errorf(memory.Invalid, "kind: %.40q is no kind of relation", x.Kind)
	}
	return errors.Join(checkID("from", x.From), checkID("to", x.To))
}

func (i *importer) fitConversation(r *record) error {
	c := r.Conversation
	c.CreatedAt, c.UpdatedAt = memory.Time(c.CreatedAt), memory.Time(c.UpdatedAt)
	c.Title = clip(i.redact(c.Title), maxImportTitle)
	if c.ID == "" {
		return memory.Errorf(memory.Invalid, "id: is empty")
	}
	return checkNames("id", c.ID, "project", c.Project, "agent", c.Agent)
}

func (i *importer) fitTurn(r *record) error {
	t := r.Turn
	if !slices.Contains([]memory.Role{memory.RoleUser, memory.RoleAssistant, memory.RoleSystem, memory.RoleTool}, t.Role) {
		return memory.Errorf(memory.Invalid, "role: %.40q is none of user, assistant, system and tool", t.Role)
	}
	if !slices.Contains([]memory.Status{memory.Active, memory.Replaced, memory.Retired}, t.Status) {
		return memory.Errorf(memory.Invalid, "status: %.40q is none of a turn", t.Status)
	}
	if t.Conversation == "" || t.Index < 0 && !r.made {
		return memory.Errorf(memory.Invalid, "a turn needs a conversation and an index of 0 or more")
	}
	t.CreatedAt, t.LearnedAt = memory.Time(t.CreatedAt), memory.Time(t.LearnedAt)
	if t.CreatedAt.IsZero() {
		t.CreatedAt = i.e.now()
	}
	t.Content = i.redact(t.Content)
	if !i.Learn && t.LearnedAt.IsZero() && t.Role == memory.RoleUser {
		t.NoLearn = true
	}
	if err := checkNames("conversation", t.Conversation, "project", t.Project, "agent", t.Agent, "name", t.Name, "ref", t.Ref, "parent", t.Parent, "chain", t.Chain); err != nil {
		return err
	}
	return checkID("id", t.ID)
}

func (i *importer) fitFact(r *record) error {
	f := r.Fact
	if r.made {
		i.make(f)
	}
	if f.Trust != memory.TrustPerson || r.made {
		f.Content = i.redact(f.Content)
	}
	content, err := i.e.checkText("content", f.Content)
	if err != nil {
		return err
	}
	if r.made {
		f.Content = content
		f.ID = derivedID(i.owner, imports, f.Scope.Project, text.Hash(content))
		f.Subject, f.Attribute = learn.Classify(content)
		if steers(content) {
			f.Status = memory.Pending
		}
	}
	f.Hash = text.Hash(f.Content)
	for _, t := range []*time.Time{&f.ObservedAt, &f.ValidFrom, &f.ValidTo, &f.CreatedAt, &f.UpdatedAt, &f.ExpiresAt} {
		*t = memory.Time(*t)
	}
	if bytes.Equal(bytes.TrimSpace(f.Metadata), []byte("null")) {
		f.Metadata = nil
	}
	switch {
	case !slices.Contains([]memory.Status{memory.Active, memory.Pending, memory.Superseded, memory.Retired, memory.Rejected}, f.Status):
		return memory.Errorf(memory.Invalid, "status: %.40q is none of a fact", f.Status)
	case !slices.Contains([]memory.FactSource{memory.Extracted, memory.Manual, memory.Imported, memory.FromFile}, f.Source):
		return memory.Errorf(memory.Invalid, "source: %.40q is none of extracted, manual, imported and file", f.Source)
	case !slices.Contains([]memory.Trust{memory.TrustPerson, memory.TrustUser, memory.TrustAssistant, memory.TrustUntrusted}, f.Trust):
		return memory.Errorf(memory.Invalid, "trust: %.40q is none of person, user, assistant and untrusted", f.Trust)
	case f.CreatedAt.IsZero(), f.ObservedAt.IsZero():
		return memory.Errorf(memory.Invalid, "created_at and observed_at: a fact has both")
	case len(f.Tags) > 64 || len(f.Provenance.Turns) > 10_000:
		return memory.Errorf(memory.Invalid, "more tags or turns than a fact has")
	}
	if err := checkNames("category", f.Category, "project", f.Scope.Project, "agent", f.Scope.Agent, "conversation", f.Scope.Conversation,
		"subject", f.Subject, "attribute", f.Attribute, "model", f.Model, "tags", strings.Join(f.Tags, " ")); err != nil {
		return err
	}
	if f.SupersededBy != "" {
		if err := checkID("superseded_by", f.SupersededBy); err != nil {
			return err
		}
	}
	return errors.Join(checkID("id", f.ID), checkFact(*f))
}

// make gives a fact of others' words what they do not say.
func (i *importer) make(f *memory.Fact) {
	now := i.e.now()
	f.Scope.Owner, f.Source, f.Confidence, f.Status = i.owner, memory.Imported, 1, memory.Active
	f.Category, f.Tags = clip(strings.TrimSpace(f.Category), maxImportName), tags(f.Tags)
	if f.CreatedAt.IsZero() {
		f.CreatedAt = now
	}
	if f.UpdatedAt.IsZero() {
		f.UpdatedAt = f.CreatedAt
	}
	f.ObservedAt = f.CreatedAt
}

// steers reports whether words read like an instruction to a model, by the measure
// that learning has for it.
func steers(words string) bool {
	const turn = "import"
	kept, _ := learn.Filter([]learn.Candidate{{Text: words, Quote: words, Turn: turn}},
		[]learn.Said{{Turn: memory.Turn{ID: turn, Role: memory.RoleUser, Content: words}, Text: words}})
	return len(kept) == 1 && kept[0].Waits != ""
}

func (i *importer) redact(s string) string {
	clean := learn.Redact(s, i.e.opts.Learn.Personal)
	if clean != s {
		i.out.Redacted++
	}
	return clean
}

// flush writes the batch.
func (i *importer) flush(ctx context.Context) error {
	batch := i.batch
	i.batch, i.bytes = nil, 0
	if len(batch) == 0 {
		return nil
	}
	i.flushes++
	there, err := i.there(ctx, batch)
	if err != nil {
		return err
	}
	if err := i.talk(ctx, batch, there); err != nil {
		return err
	}
	return i.things(ctx, batch, there)
}

// there returns what the owner has under the batch's ids.
func (i *importer) there(ctx context.Context, batch []record) (map[string]memory.Memory, error) {
	var ids []string
	for _, r := range batch {
		switch {
		case r.Turn != nil:
			ids = append(ids, r.Turn.ID)
		case r.Fact != nil:
			ids = append(ids, r.Fact.ID)
		case r.Summary != nil:
			ids = append(ids, r.Summary.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := i.e.Store.Get(ctx, i.owner, ids...)
	if err != nil {
		return nil, fmt.Errorf("look up what is there: %w", err)
	}
	there := make(map[string]memory.Memory, len(found))
	for _, m := range found {
		there[m.ID()] = m
	}
	return there, nil
}

// things adds the batch's facts, summaries, profile entries and relations in one run.
// Looking for live facts of the same words costs a query each, so at first the store
// is asked to refuse them.
func (i *importer) things(ctx context.Context, batch []record, there map[string]memory.Memory) error {
	rest := i.fresh(batch, there)
	run := memory.Run{ID: idFor(i.owner, suffixed(i.Idempotency, imports+strconv.Itoa(i.flushes))), Kind: imports, Author: i.author}
	careful := i.DryRun
	var vectors []memory.Vector
	for try := 1; len(rest) > 0; try++ {
		plan, skip, err := i.plan(ctx, rest, careful)
		if err != nil {
			return err
		}
		if !i.DryRun && len(plan) > 0 {
			if vectors == nil {
				if vectors, err = i.embed(ctx, rest); err != nil {
					return err
				}
			}
			run.Vectors = vectors
			_, err = i.e.Store.Apply(ctx, i.owner, run, changesOf(plan, i.author)...)
		}
		switch {
		case err == nil:
			i.count(plan, run.ID)
			skip()
			return nil
		case try == maxConflicts || !errors.Is(err, memory.Conflict) && !errors.Is(err, memory.Duplicate):
			return fmt.Errorf("write what was imported: %w", err)
		case errors.Is(err, memory.Conflict) && careful: // somebody writes the same things now
			if there, err = i.there(ctx, rest); err != nil {
				return err
			}
			rest = i.fresh(rest, there)
		}
		careful = true
	}
	return nil
}

// fresh leaves out what is there already, and counts or names it.
func (i *importer) fresh(batch []record, there map[string]memory.Memory) []record {
	var rest []record
	met := map[string]bool{}
	for _, r := range batch {
		switch {
		case r.Conversation != nil, r.Turn != nil:
			continue
		case met[r.target()]:
			i.conflict(r, "stands in the file twice; the first is taken")
			continue
		}
		met[r.target()] = true
		var id string
		switch {
		case r.Fact != nil:
			id = r.Fact.ID
		case r.Summary != nil:
			id = r.Summary.ID
		}
		m, ok := there[id]
		switch {
		case !ok || id == "":
			rest = append(rest, r)
		case r.made:
			i.tally(&i.out.There, r)
		default:
			if diff := differs(r, m); diff != "" {
				i.conflict(r, "%s", diff)
			} else {
				i.tally(&i.out.There, r)
			}
		}
	}
	return rest
}

// differs says how what is there differs from a record, "" if it does not.
func differs(r record, m memory.Memory) string {
	was := record{Fact: m.Fact, Summary: m.Summary}
	switch {
	case m.Link != nil:
		return "is another owner's fact here, seen by link"
	case was.target() != r.target():
		return "is a " + string(m.Kind()) + " here"
	case m.Fact != nil && wasErased(*m.Fact):
		return "was erased here and is not brought back"
	case r.Fact != nil && m.Fact.Status != r.Fact.Status:
		return fmt.Sprintf("is %s here and %s in the file", m.Fact.Status, r.Fact.Status)
	case m.Content() != *r.words():
		return fmt.Sprintf("says %q here and %q in the file", clip(m.Content(), 120), clip(*r.words(), 120))
	}
	have, err1 := json.Marshal(was.value(nil))
	want, err2 := json.Marshal(r.value(nil))
	if err1 != nil || err2 != nil || !bytes.Equal(have, want) {
		return "has other times or marks here"
	}
	return ""
}

// plan decides what to add of records whose ids are free. careful looks for live facts
// of the same words. skip counts what was left out; it is to be called if the plan is
// carried out.
func (i *importer) plan(ctx context.Context, rest []record, careful bool) (plan []record, skip func(), err error) {
	var left []func()
	var profile map[string]string
	live := map[hashIn]bool{}
	for _, r := range rest {
		switch {
		case r.Fact != nil && r.Fact.Status.Live():
			key := hashIn{r.Fact.Scope, r.Fact.Hash}
			twin := live[key] || i.seen[key]
			if !twin && careful {
				if twin, err = i.twin(ctx, *r.Fact); err != nil {
					return nil, nil, err
				}
			}
			if twin {
				left = append(left, func() { i.out.Duplicates++ })
				continue
			}
			live[key] = true
		case r.Profile != nil:
			if profile == nil {
				entries, err := i.e.Store.Profile(ctx, i.owner, memory.At{})
				if err != nil {
					return nil, nil, fmt.Errorf("read the profile: %w", err)
				}
				profile = map[string]string{}
				for _, p := range entries {
					profile[p.Key] = p.Value
				}
			}
			if have, ok := profile[r.Profile.Key]; ok {
				left = append(left, func() { i.thereOr(r, have == r.Profile.Value, "is %q here", clip(have, 120)) })
				continue
			}
		case r.Relation != nil:
			known, err := i.e.Store.Relations(ctx, i.owner, r.Relation.From, memory.At{})
			if err != nil {
				return nil, nil, fmt.Errorf("read relations: %w", err)
			}
			if slices.ContainsFunc(known, func(x memory.Relation) bool { return record{Relation: &x}.target() == r.target() }) {
				left = append(left, func() { i.tally(&i.out.There, r) })
				continue
			}
		}
		if careful && (r.Profile != nil || r.Relation != nil) {
			gone, err := i.retired(ctx, r)
			if err != nil {
				return nil, nil, err
			}
			if gone {
				left = append(left, func() { i.conflict(r, "was taken out here") })
				continue
			}
		}
		plan = append(plan, r)
	}
	if i.DryRun {
		for key := range live {
			i.seen[key] = true
		}
	}
	return plan, func() {
		for _, f := range left {
			f()
		}
	}, nil
}

func (i *importer) thereOr(r record, same bool, format string, args ...any) {
	if same {
		i.tally(&i.out.There, r)
		return
	}
	i.conflict(r, format, args...)
}

// retired reports whether a thing that is not active stands under its target.
func (i *importer) retired(ctx context.Context, r record) (bool, error) {
	page, err := i.e.Store.Changes(ctx, i.owner, memory.ChangeQuery{Target: r.target(), Limit: 1})
	if err != nil {
		return false, fmt.Errorf("read the journal: %w", err)
	}
	return len(page.Changes) > 0, nil
}

// twin reports whether a live fact of the same scope says the same.
func (i *importer) twin(ctx context.Context, f memory.Fact) (bool, error) {
	page, err := i.e.Store.List(ctx, i.owner, memory.Query{Hash: f.Hash, Statuses: []memory.Status{memory.Active, memory.Pending}, Limit: 500})
	if err != nil {
		return false, fmt.Errorf("look for the same words: %w", err)
	}
	return slices.ContainsFunc(page.Memories, func(m memory.Memory) bool {
		return m.Link == nil && m.Fact.Scope == f.Scope && m.Fact.ID != f.ID
	}), nil
}

func (i *importer) tally(to *Tally, r record) {
	switch {
	case r.Conversation != nil:
		to.Conversations++
	case r.Turn != nil:
		to.Turns++
	case r.Fact != nil:
		to.Facts++
	case r.Summary != nil:
		to.Summaries++
	case r.Profile != nil:
		to.Profile++
	case r.Relation != nil:
		to.Relations++
	}
}

// count notes what was added under a run.
func (i *importer) count(added []record, run string) {
	for _, r := range added {
		i.tally(&i.out.Added, r)
		if r.Fact != nil && r.Fact.Status == memory.Pending {
			i.out.Waiting++
		}
		if len(i.out.Sample) < maxSample {
			i.out.Sample = append(i.out.Sample, r.image())
		}
	}
	if len(added) > 0 && !i.DryRun && len(i.out.Runs) < maxRuns {
		i.out.Runs = append(i.out.Runs, run)
	}
}

func changesOf(plan []record, author memory.Author) []memory.Change {
	changes := make([]memory.Change, 0, len(plan))
	for _, r := range plan {
		c := memory.Change{Action: memory.ActionAdd, After: r.image(), Reason: importReason, Author: author}
		if r.Fact != nil {
			c.NewID = r.Fact.ID
		}
		changes = append(changes, c)
	}
	return changes
}

// embed returns vectors of what facts and summaries say, whatever became of them: they
// may be restored.
func (i *importer) embed(ctx context.Context, rest []record) ([]memory.Vector, error) {
	var ids, texts []string
	for _, r := range rest {
		if r.Fact != nil || r.Summary != nil {
			ids, texts = append(ids, memory.Memory{Fact: r.Fact, Summary: r.Summary}.ID()), append(texts, *r.words())
		}
	}
	if len(texts) == 0 {
		return []memory.Vector{}, nil
	}
	values, err := i.e.Embedder.Embed(ctx, memory.AsDocument, texts...)
	if err != nil {
		return nil, fmt.Errorf("embed what is imported: %w", err)
	}
	vectors := make([]memory.Vector, len(ids))
	for n, id := range ids {
		vectors[n] = memory.Vector{Memory: id, Model: i.e.Embedder.Fingerprint(), Values: values[n]}
	}
	return vectors, nil
}

// talk appends the batch's turns to their conversations.
func (i *importer) talk(ctx context.Context, batch []record, there map[string]memory.Memory) error {
	var order []string
	turns := map[string][]record{}
	for _, r := range batch {
		switch {
		case r.Conversation != nil:
			id := r.Conversation.ID
			if t := i.talks[id]; t == nil || !t.named {
				i.talks[id] = &talkIn{Conversation: *r.Conversation, line: r.line, named: true}
			}
			if !slices.Contains(order, id) {
				order = append(order, id)
			}
		case r.Turn != nil:
			id := r.Turn.Conversation
			if _, met := turns[id]; !met && !slices.Contains(order, id) {
				order = append(order, id)
			}
			turns[id] = append(turns[id], r)
		}
	}
	if err := i.meet(ctx, order, turns); err != nil {
		return err
	}
	for _, id := range order {
		if err := i.say(ctx, i.talks[id], turns[id], there); err != nil {
			return err
		}
	}
	for id := range i.talks { // bounded: what follows begins with its conversation's line
		if len(order) > 0 && id != order[len(order)-1] {
			delete(i.talks, id)
		}
	}
	return nil
}

// meet finds out which conversations are there.
func (i *importer) meet(ctx context.Context, order []string, turns map[string][]record) error {
	var unknown []string
	for _, id := range order {
		if i.talks[id] == nil {
			first := turns[id][0].Turn
			i.talks[id] = &talkIn{Conversation: memory.Conversation{
				ID: id, Owner: i.owner, Project: first.Project, Agent: first.Agent, CreatedAt: first.CreatedAt, UpdatedAt: first.CreatedAt,
			}}
		}
		if !i.talks[id].known {
			unknown = append(unknown, id)
		}
	}
	for part := range slices.Chunk(unknown, 500) {
		page, err := i.e.Store.Conversations(ctx, i.owner, memory.ConversationQuery{IDs: part, Limit: 500})
		if err != nil {
			return fmt.Errorf("look up conversations: %w", err)
		}
		for _, c := range page.Conversations {
			i.talks[c.ID].stored = true
		}
	}
	for _, id := range unknown {
		t := i.talks[id]
		t.known, t.last = true, memory.Turn{Index: -1}
		if t.stored && t.named {
			i.out.There.Conversations++
		}
		if !t.stored {
			continue
		}
		path, err := i.e.Store.Turns(ctx, i.owner, memory.TurnQuery{Conversation: id})
		if err != nil {
			return fmt.Errorf("look up turns: %w", err)
		}
		t.path = make(map[int]string, len(path))
		for _, turn := range path {
			t.path[turn.Index] = turn.ID
			t.last = turn
		}
	}
	return nil
}

// say appends turns to one conversation.
func (i *importer) say(ctx context.Context, t *talkIn, said []record, there map[string]memory.Memory) error {
	batch := memory.Batch{Conversation: t.Conversation}
	met := map[string]bool{}
	var sample []record
	for _, r := range said {
		turn := r.Turn
		if old, ok := there[turn.ID]; ok || met[turn.ID] {
			i.known(r, old)
			if r.made && old.Turn != nil {
				t.last = *old.Turn
			}
			continue
		}
		if r.made {
			place(turn, t)
		}
		if id, taken := t.path[turn.Index]; taken && turn.Status == memory.Active && id != turn.ID {
			i.conflict(r, "turn %d of conversation %.60s is another one here", turn.Index, t.ID)
			continue
		}
		met[turn.ID], t.last = true, *turn
		if t.path != nil && turn.Status == memory.Active {
			t.path[turn.Index] = turn.ID
		}
		batch.Turns, sample = append(batch.Turns, *turn), append(sample, r)
	}
	if batch.Conversation.UpdatedAt.IsZero() && len(batch.Turns) > 0 { // an export of the past does not know
		batch.Conversation.UpdatedAt = t.last.CreatedAt
	}
	isNew := !t.stored
	if len(batch.Turns) == 0 && (!isNew || !t.named) {
		return nil
	}
	if !i.DryRun {
		if err := i.appended(ctx, &batch); err != nil {
			return err
		}
	}
	t.stored = true
	if isNew {
		i.out.Added.Conversations++
	}
	i.out.Added.Turns += len(sample)
	return nil
}

// place puts a made turn at the end of its conversation.
func place(turn *memory.Turn, t *talkIn) {
	turn.Index, turn.Parent = t.last.Index+1, t.last.ID
	turn.Chain = dialog.Chain(t.last.Chain, wire.Digest(turn.Role, turn.Content, "", ""))
	if turn.CreatedAt.IsZero() {
		turn.CreatedAt = t.CreatedAt
	}
}

// known counts a turn whose id is there, or names how it differs.
func (i *importer) known(r record, old memory.Memory) {
	switch turn := old.Turn; {
	case old.Kind() == "":
		i.conflict(r, "stands in the file twice; the first is taken")
	case turn == nil:
		i.conflict(r, "is a %s here", old.Kind())
	case r.made:
		i.out.There.Turns++
	case turn.Conversation != r.Turn.Conversation:
		i.conflict(r, "is of conversation %.60s here", turn.Conversation)
	case turn.Content != r.Turn.Content:
		i.conflict(r, "says %q here and %q in the file", clip(turn.Content, 120), clip(r.Turn.Content, 120))
	case turn.Status != r.Turn.Status:
		i.conflict(r, "is %s here and %s in the file", turn.Status, r.Turn.Status)
	default:
		i.out.There.Turns++
	}
}

// appended writes a batch of turns, with the learning that it waits for.
func (i *importer) appended(ctx context.Context, b *memory.Batch) error {
	leave, err := i.e.writes.enter(ctx, i.owner, b.Conversation.ID)
	if err != nil {
		return err
	}
	defer leave()
	if b.Vectors, err = i.e.turnVectors(ctx, b.Turns); err != nil {
		return err
	}
	if i.Learn {
		for _, t := range slices.Backward(b.Turns) {
			if t.Role == memory.RoleUser && t.Status == memory.Active && t.LearnedAt.IsZero() && !t.NoLearn {
				b.Jobs = []memory.Job{learnJob(i.owner, b.Conversation.ID, t.ID, i.e.now())}
				i.out.Jobs++
				break
			}
		}
	}
	if _, err := i.e.Store.Append(ctx, i.owner, *b); err != nil {
		return fmt.Errorf("write turns: %w", err)
	}
	return nil
}
