package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// fullStore includes all optional interfaces of a [memory.Store] that scripts use.
type fullStore interface {
	memory.Store
	memory.Sessions
	memory.Keys
}

// runStep runs a step: a verb of the script language, or the store's method with the verb's name.
func (p *scriptRun) runStep(l *scriptStep) (any, error) {
	p.nextReplica()
	switch l.verb {
	case "apply":
		return p.applyStep(l)
	case "append":
		return p.appendStep(l)
	case "erase":
		return p.eraseStep(l)
	case "undo":
		return p.undoStep(l)
	case "since":
		return p.sinceStep(l)
	case "look":
		return p.lookStep(l)
	case "together":
		return p.togetherStep(l)
	case "wait":
		d, err := time.ParseDuration(p.nextArg(l))
		p.rig.clock.Advance(d)
		return nil, err
	case "stop-clock":
		p.rig.clock.SetStep(-1)
		return nil, nil
	case "cancel":
		ctx, cancel := context.WithCancel(p.ctx)
		cancel()
		p.ctx = ctx
		return nil, nil
	case "renew":
		p.ctx = p.Context()
		return nil, nil
	case "remember", "compare", "watch", "lacks", "furnish":
		return nil, p.stateStep(l, p.parseOwner(p.nextArg(l)))
	}
	return p.callStep(l)
}

// callStep calls a method of the store. The arguments are parsed from the step by type: plain words in order,
// the fields of a struct from KEY=VALUE, and each struct of a list from one clause.
func (p *scriptRun) callStep(l *scriptStep) (any, error) {
	p.Helper()
	name := strings.ReplaceAll(l.verb, "-", "")
	declared, ok := reflect.TypeFor[fullStore]().MethodByName(methodName(name))
	if !ok {
		p.Fatalf("%s: there is no step %q", l.text, l.verb)
	}
	method := reflect.ValueOf(p.Store).MethodByName(declared.Name)
	if !method.IsValid() {
		p.Skipf("this store has no %s", declared.Name)
	}
	in := []reflect.Value{reflect.ValueOf(p.ctx)}[:min(1, declared.Type.NumIn())]
	for i := len(in); i < declared.Type.NumIn(); i++ {
		param := declared.Type.In(i)
		if declared.Type.IsVariadic() && i == declared.Type.NumIn()-1 {
			in = append(in, p.parseVariadic(l, param.Elem())...)
			continue
		}
		v := reflect.New(param).Elem()
		if isStruct(param) {
			p.fillFields(v.Addr().Interface(), l.args)
		} else {
			p.must(l.text, p.parseInto(v, p.nextArg(l)))
		}
		in = append(in, v)
	}
	if last := in[max(len(in)-1, 0):]; len(last) == 1 && last[0].Kind() == reflect.Struct && last[0].FieldByName("Cursor").IsValid() {
		return p.readPages(l, last[0], func() (reflect.Value, error) { return splitResults(method.Call(in)) })
	}
	out, err := splitResults(method.Call(in))
	if !out.IsValid() {
		return nil, err
	}
	return out.Interface(), err
}

// methodName returns the name of the method for a verb: AddSession for addsession.
func methodName(step string) string {
	for m := range reflect.TypeFor[fullStore]().Methods() {
		if strings.EqualFold(m.Name, step) {
			return m.Name
		}
	}
	return ""
}

// isStruct reports whether an argument of type t is written as KEY=VALUE words.
func isStruct(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t != reflect.TypeFor[time.Time]() && t != reflect.TypeFor[memory.Lease]()
}

// parseVariadic parses the variadic arguments of a method, which have the type elemType.
func (p *scriptRun) parseVariadic(l *scriptStep, elemType reflect.Type) []reflect.Value {
	p.Helper()
	var out []reflect.Value
	if elemType.Kind() != reflect.Struct {
		for _, text := range plainWords(l.args) {
			v := reflect.New(elemType).Elem()
			p.must(l.text, p.parseInto(v, text))
			out = append(out, v)
		}
		return out
	}
	for _, clause := range l.clauses {
		v := reflect.New(elemType)
		if t, ok := v.Interface().(*memory.Trace); ok {
			*t = sampleTrace
		}
		p.fillFields(v.Interface(), clause)
		if t, ok := v.Interface().(*memory.Trace); ok {
			p.savedTraces[string(t.Owner)+" "+t.ID] = *t
		}
		out = append(out, v.Elem())
	}
	return out
}

func splitResults(out []reflect.Value) (first reflect.Value, err error) {
	err, _ = out[len(out)-1].Interface().(error)
	if len(out) > 1 {
		first = out[0]
	}
	return first, err
}

// readPages reads one page if the query has a limit or a cursor. Otherwise it reads all pages, and checks
// that pages of one row and of two rows contain the same rows.
func (p *scriptRun) readPages(l *scriptStep, query reflect.Value, read func() (reflect.Value, error)) (any, error) {
	limit, cursor := query.FieldByName("Limit"), query.FieldByName("Cursor")
	if limit.Int() != 0 || cursor.String() != "" {
		if named, ok := p.cursors[cursor.String()]; ok {
			cursor.SetString(named)
		}
		page, err := read()
		next := page.FieldByName("Next").String()
		p.cursors[l.label], l.hasMore = next, next != ""
		return page.Field(0).Interface(), err
	}
	readAll := func(size int64) (rows reflect.Value, err error) {
		limit.SetInt(size)
		for cursor.SetString(""); ; {
			page, err := read()
			if !rows.IsValid() {
				rows = reflect.New(page.Field(0).Type()).Elem()
			}
			rows = reflect.AppendSlice(rows, page.Field(0))
			next := page.FieldByName("Next").String()
			if err != nil || next == "" {
				return rows, err
			}
			if next == cursor.String() {
				p.Fatalf("%s\nthe cursor of the next page is the same", l.text)
			}
			cursor.SetString(next)
		}
	}
	rows, err := readAll(0)
	for size := range min(int64(rows.Len()), 2) {
		small, err := readAll(size + 1)
		p.must(l.text, err)
		p.checkEqual(fmt.Sprintf("%s\n%d a page", l.text, size+1), small.Interface(), rows.Interface())
	}
	return rows.Interface(), err
}

// applyStep runs a step like apply OWNER run-fields: ACTION TARGET "words" fields; …; job …; vector ….
func (p *scriptRun) applyStep(l *scriptStep) (any, error) {
	owner, run := p.parseOwner(p.nextArg(l)), p.newRun(l)
	p.fillFields(&run, l.args)
	changes := p.parseClauses(owner, l.clauses, &run.Jobs, &run.Vectors)
	return p.recordWrite(l, owner, changes, func() (memory.Receipt, error) { return p.Apply(p.ctx, owner, run, changes...) })
}

// newRun returns the run of a step. Its id is the step's label, if it has one.
func (p *scriptRun) newRun(l *scriptStep) memory.Run {
	if l.label != "" {
		return memtest.Run(l.label)
	}
	return p.nextRun()
}

// parseClauses parses the clauses of a write. It adds jobs and vectors to the lists and returns the changes.
func (p *scriptRun) parseClauses(owner memory.Owner, clauses [][]word, jobs *[]memory.Job, vectors *[]memory.Vector) []memory.Change {
	p.Helper()
	var changes []memory.Change
	p.stepStates = map[string]memory.State{}
	for _, clause := range clauses {
		switch names := plainWords(clause); names[0] {
		case "job":
			j := memory.Job{ID: names[1], Owner: owner, Kind: memory.JobLearn}
			p.fillFields(&j, clause)
			*jobs = append(*jobs, j)
		case "vector":
			v := memtest.Vector(names[1], names[2])
			p.fillFields(&v, clause)
			*vectors = append(*vectors, v)
		default:
			for _, c := range p.makeChanges(owner, memory.Action(names[0]), names[1:], clause) {
				p.stepStates[c.After.Target()] = c.After
				changes = append(changes, c)
			}
		}
	}
	p.stepStates = nil
	return changes
}

// statusAfter is the status of a target by action, unless the script sets a status.
var statusAfter = map[memory.Action]memory.Status{
	memory.ActionRetire: memory.Retired, memory.ActionUnlink: memory.Retired, memory.ActionRestore: memory.Active,
	memory.ActionApprove: memory.Active, memory.ActionReject: memory.Rejected, memory.ActionLink: memory.Active,
}

// makeChanges returns a change of a target from its latest written state. names are the target and its text;
// fields set fields of the target, or of the change if the target lacks the field. A replace also names the
// new fact and returns two changes.
func (p *scriptRun) makeChanges(owner memory.Owner, action memory.Action, names []string, fields []word) []memory.Change {
	p.Helper()
	if fits, ok := strings.CutSuffix(string(action), "?"); ok {
		if action, ok = p.fittingAction(owner, memory.Action(fits), names[0]); !ok {
			return nil
		}
	}
	c := memory.Change{Action: action, Author: memtest.Person}
	if len(names) > 0 {
		c.After, names = p.latestState(owner, names[0]), names[1:]
	}
	old := c.After
	if action == memory.ActionReplace {
		c.After, names = p.latestState(owner, "fact:"+names[0]), names[1:]
	}
	thing := targetPointer(&c.After)
	if status, ok := statusAfter[action]; ok && thing.IsValid() {
		fieldOf(thing.Elem(), "status").SetString(string(status))
	}
	if len(names) > 0 {
		setText(&c.After, names[0])
	}
	for _, w := range fields {
		if w.key == "" || thing.IsValid() && p.setField(thing, w) == nil {
			continue
		}
		if w == (word{key: "base", value: "same"}) || w == (word{key: "base", value: "next"}) {
			c.Base = p.versionOf(owner, c.After) + int64(len(w.value)-len("same"))
			continue
		}
		p.fillFields(&c, []word{w})
	}
	if action == memory.ActionReplace {
		return memory.Replace(*old.Fact, *c.After.Fact, c.After.Fact.ObservedAt, c.Reason, memtest.Person)
	}
	return []memory.Change{c}
}

// fittingAction returns an action that fits the state of a target: the requested action if it fits, otherwise
// an update or an add. It returns false for a new turn or conversation, which cannot be added.
func (p *scriptRun) fittingAction(owner memory.Owner, action memory.Action, target string) (memory.Action, bool) {
	_, inStep := p.stepStates[target]
	_, exists := p.latestStates[owner][target]
	kind, id, _ := strings.Cut(target, ":")
	if kind == "turn" {
		_, exists = p.writtenTurns[owner][id]
	}
	if kind == "conversation" {
		_, exists = p.conversationState(owner, id)
	}
	adds := action == memory.ActionAdd || action == memory.ActionLink
	switch exists = exists || inStep; {
	case adds != exists:
		return action, true
	case exists:
		return memory.ActionUpdate, true
	}
	return memory.ActionAdd, kind != "turn" && kind != "conversation"
}

// versionOf returns a memory's version, or 0 if the memory does not exist.
func (p *scriptRun) versionOf(owner memory.Owner, state memory.State) int64 {
	_, id, _ := strings.Cut(state.Target(), ":")
	found, err := p.Get(p.ctx, owner, id)
	if err != nil || len(found) != 1 {
		return 0
	}
	return found[0].Version()
}

func setText(state *memory.State, words string) {
	switch {
	case state.Fact != nil:
		state.Fact.Content, state.Fact.Hash = words, memtest.Hash(words)
	case state.Link != nil:
		state.Link.Fact.Content, state.Link.Fact.Hash = words, memtest.Hash(words)
	case state.Profile != nil:
		state.Profile.Value = words
	case state.Summary != nil:
		state.Summary.Text = words
	case state.Context != nil:
		state.Context.Content = words
	}
}

// appendStep runs a step of the form append OWNER CONVERSATION conversation-fields from=N "words"…: clauses.
// The words are turns of user and assistant alternately; the turn with index 3 of conversation c has the id c3.
// Besides the clauses of apply, it accepts the clauses turn ID "words" fields and path ID… after=ID from=N.
func (p *scriptRun) appendStep(l *scriptStep) (any, error) {
	owner := p.parseOwner(p.nextArg(l))
	b := memory.Batch{Conversation: memtest.Conversation(owner, p.nextArg(l))}
	first := 0
	conversationArgs := slices.DeleteFunc(slices.Clone(l.args), func(w word) bool {
		switch w.key {
		case "run":
			b.Run = w.value
		case "from":
			p.must(l.text, p.parseInto(reflect.ValueOf(&first).Elem(), w.value))
		}
		return w.key == "run" || w.key == "from"
	})
	p.fillFields(&b.Conversation, conversationArgs)
	for _, words := range plainWords(conversationArgs) {
		b.Turns = append(b.Turns, turnAt(b.Conversation, first+len(b.Turns), words))
	}
	var changeClauses [][]word
	for _, clause := range l.clauses {
		switch names := plainWords(clause); names[0] {
		case "turn":
			t := turnAt(b.Conversation, first+len(b.Turns), names[2])
			t.ID, t.Chain = names[1], "chain "+names[1]
			p.fillFields(&t, clause)
			b.Turns = append(b.Turns, t)
		case "path":
			b.Path = &memory.Path{Turns: names[1:]}
			p.fillFields(b.Path, clause)
		default:
			changeClauses = append(changeClauses, clause)
		}
	}
	b.Changes = p.parseClauses(owner, changeClauses, &b.Jobs, &b.Vectors)
	receipt, err := p.recordWrite(l, owner, b.Changes, func() (memory.Receipt, error) { return p.Append(p.ctx, owner, b) })
	if err == nil && !receipt.Again {
		for _, t := range b.Turns {
			if _, ok := p.writtenTurns[owner][t.ID]; !ok {
				p.writtenTurns[owner][t.ID] = t
			}
		}
	}
	return receipt, err
}

// turnAt returns the turn at an index of a conversation with only one path.
func turnAt(c memory.Conversation, index int, words string) memory.Turn {
	t := memtest.Turn(c.Owner, c.ID, index, []memory.Role{memory.RoleUser, memory.RoleAssistant}[index%2], words)
	t.ID = fmt.Sprint(c.ID, index)
	t.Chain = "chain " + t.ID
	if index > 0 {
		t.Parent = fmt.Sprint(c.ID, index-1)
	}
	return t
}

// eraseStep runs a step of the form erase OWNER run-fields ID…: job …. It forgets the written states
// of the owner, so that the data after the erasure is not compared with them.
func (p *scriptRun) eraseStep(l *scriptStep) (any, error) {
	owner, run := p.parseOwner(p.nextArg(l)), p.newRun(l)
	run.Kind = "erase"
	p.fillFields(&run, l.args)
	p.parseClauses(owner, l.clauses, &run.Jobs, &run.Vectors)
	receipt, err := p.recordWrite(l, owner, nil, func() (memory.Receipt, error) { return p.Store.Erase(p.ctx, owner, run, plainWords(l.args)...) })
	if err == nil && !receipt.Again {
		p.latestStates[owner], p.writtenTurns[owner] = map[string]memory.State{}, map[string]memory.Turn{}
	}
	return receipt, err
}

// undoStep runs a step of the form undo OWNER change-query: it reverts the changes that the query selects.
func (p *scriptRun) undoStep(l *scriptStep) (any, error) {
	owner := p.parseOwner(p.nextArg(l))
	var q memory.ChangeQuery
	p.fillFields(&q, l.args)
	reverts := undoChanges(p.changes(owner, q))
	return p.recordWrite(l, owner, reverts, func() (memory.Receipt, error) { return p.Apply(p.ctx, owner, p.newRun(l), reverts...) })
}

// sinceStep runs a step of the form since OWNER VERSION model=NAME. It checks that each item equals the result
// of get, that a removed item has only id and version, and that the result has the owner's version.
func (p *scriptRun) sinceStep(l *scriptStep) (any, error) {
	owner := p.parseOwner(p.nextArg(l))
	var query struct {
		After int64
		Model string
	}
	query.Model = embedderFingerprint
	p.must(l.text, p.parseInto(reflect.ValueOf(&query.After).Elem(), p.nextArg(l)))
	p.fillFields(&query, l.args)
	var items []memory.IndexItem
	version, err := p.Since(p.ctx, owner, query.Model, query.After, func(i memory.IndexItem) error {
		items = append(items, i)
		return nil
	})
	if err != nil {
		return items, err
	}
	p.checkEqual("the version of "+l.text, version, p.version(owner))
	for _, i := range items {
		want := memory.IndexItem{ID: i.ID, Version: i.Version, Removed: true}
		if !i.Removed {
			m := p.get(owner, i.ID)[0]
			want = memory.IndexItem{ID: i.ID, Version: m.Version(), Memory: m, Vector: i.Vector}
		}
		p.checkEqual(l.text, i, want)
	}
	return items, nil
}

// lookStep runs a step of the form look OWNER ID…: query; query. Its result must equal that of get and list.
func (p *scriptRun) lookStep(l *scriptStep) (any, error) {
	owner := p.parseOwner(p.nextArg(l))
	set := memory.ReadSet{IDs: plainWords(l.args)}
	for _, clause := range l.clauses {
		var q memory.Query
		p.fillFields(&q, clause)
		set.Queries = append(set.Queries, q)
	}
	got, err := memory.ReadBatch(p.ctx, p.Store, owner, set)
	if err != nil {
		return got, err
	}
	want, err := memory.ReadBatch(p.ctx, struct{ memory.Store }{p.Store}, owner, set) // read with Get and List
	p.must(l.text, err)
	p.checkEqual(l.text, got, want)
	return got.Memories, nil
}

// concurrentResult counts the results of a step that several goroutines ran.
type concurrentResult struct {
	Taken, Again, Refused int         // numbers of calls that wrote, that repeated an applied write, and that failed
	Code                  memory.Code // code of the refused calls
	Receipts              int         // number of different receipts, ignoring Again
}

// togetherStep runs a step like together STEP: 8 goroutines run STEP at once. $w is a goroutine's number.
func (p *scriptRun) togetherStep(l *scriptStep) (any, error) {
	var mu sync.Mutex
	var result concurrentResult
	receipts := map[string]bool{}
	p.runConcurrently(func(s memory.Store, w int) {
		worker := newScriptRun(newRigOn(p.TB, s, p.rig.clock))
		step, err := parseStep(strings.ReplaceAll(strings.TrimPrefix(l.text, "together "), "$w", fmt.Sprint(w)))
		worker.must(l.text, err)
		step.expectsResult, step.want = false, nil
		answer, err := worker.runStep(step)
		mu.Lock()
		defer mu.Unlock()
		receipt, _ := answer.(memory.Receipt)
		switch coded := (*memory.Error)(nil); {
		case errors.As(err, &coded):
			result.Refused, result.Code = result.Refused+1, coded.Code
			return
		case err != nil:
			p.Errorf("%s\ngot error %v", step.text, err)
		case receipt.Again:
			result.Again++
		default:
			result.Taken++
		}
		receipt.Again = false
		receipts[fmt.Sprintf("%+v", receipt)] = true
	})
	result.Receipts = len(receipts)
	return result, nil
}

// stateStep runs a step that reads or writes all of an owner's data, see scripts/README.md.
func (p *scriptRun) stateStep(l *scriptStep, owner memory.Owner) error {
	p.Helper()
	switch l.verb {
	case "furnish":
		p.writeSamples(owner)
	case "remember":
		p.snapshots[l.label] = p.readSnapshot(owner)
	case "watch":
		p.watchedExports[owner] = append(p.watchedExports[owner], timedExport{p.rig.clock.Now(), p.readExport(owner, memory.At{})})
	case "compare":
		p.compareData(l, owner)
	case "lacks":
		p.checkAbsent(owner, p.nextArg(l))
	}
	return nil
}

// compareData runs compare OWNER LABEL: all data must equal the data of the remember step LABEL. With the
// word active it compares only active data, optionally as_of a time.
func (p *scriptRun) compareData(l *scriptStep, owner memory.Owner) {
	p.Helper()
	want, ok := p.snapshots[p.nextArg(l)]
	if !ok {
		p.Fatalf("%s: no remember step has this label", l.text)
	}
	if len(l.args) == 0 {
		p.checkEqual(l.text, p.readSnapshot(owner), want)
		return
	}
	var at memory.At
	p.fillFields(&at, l.args)
	p.checkEqual(l.text, p.readExport(owner, at).active(), want.Export.active(), ignoreVersions)
}

// sampleTrace is the content of a trace unless the script sets other values.
var sampleTrace = memory.Trace{
	Conversation: "c", Door: "chat", Question: "tea?", At: memtest.Epoch, Found: 3,
	Hits: []memory.TraceHit{
		{ID: "f", Kind: memory.KindFact, Content: "tea", Score: 0.5, Why: memory.Why{{Name: "words", Value: 0.25}, {Name: "fused", Value: 0.5}}},
	},
	Cut:       []memory.TraceHit{{ID: "t", Kind: memory.KindTurn, Cut: "threshold"}},
	Placement: "tail", Block: "tea\n", Degraded: []string{"vector: slow"}, Took: 1500 * time.Nanosecond,
	Remembered: true, Reranked: 8, RerankOf: 24, Misspelt: []memory.Misspelt{{Word: "tae", Meant: []string{"tea"}}},
}
