package storetest

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// scriptFiles contains the rules as scripts; scripts/README.md describes their language.
//
//go:embed scripts
var scriptFiles embed.FS

// runScripts plays each script of a folder on a new store.
func runScripts(t *testing.T, open Open, folder string) {
	files, err := fs.Glob(scriptFiles, folder+"/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := scriptFiles.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, script := range txtar.Parse(text).Files {
			t.Run(script.Name, func(t *testing.T) {
				p := newScriptRun(newRig(t, open))
				p.runSteps(string(script.Data))
				p.checkEnd()
			})
		}
	}
}

// scriptRun is a running script. It records the script's writes, to compare the data at the end with them.
type scriptRun struct {
	rig
	variables
	owners         []memory.Owner                           // owners that the script has written to
	latestStates   map[memory.Owner]map[string]memory.State // latest written states, by target
	writtenTurns   map[memory.Owner]map[string]memory.Turn  // turns as first written, by id
	savedTraces    map[string]memory.Trace                  // latest saved traces, by owner and id
	snapshots      map[string]snapshot                      // data that remember steps have read, by label
	watchedExports map[memory.Owner][]timedExport           // data of watched owners, oldest first, for checkWatched
	exportInterval int64                                    // number of versions from one watched export to the next
	stepStates     map[string]memory.State                  // states written by earlier changes of the current step
	ctx            context.Context                          // context of all calls; a script may cancel it
}

func newScriptRun(r *rig) *scriptRun {
	return &scriptRun{
		rig: *r, ctx: r.Context(),
		variables:    variables{clock: r.clock, writeTimes: map[string]time.Time{}, leases: map[string]memory.Lease{}, cursors: map[string]string{}},
		latestStates: map[memory.Owner]map[string]memory.State{}, writtenTurns: map[memory.Owner]map[string]memory.Turn{},
		savedTraces: map[string]memory.Trace{}, snapshots: map[string]snapshot{}, watchedExports: map[memory.Owner][]timedExport{}, exportInterval: 1,
	}
}

// runSteps runs the steps of a script.
func (p *scriptRun) runSteps(script string) {
	p.Helper()
	lines, err := parseScript(script)
	p.must("parse", err)
	for _, l := range lines {
		answer, err := p.runStep(l)
		p.checkResult(l, answer, err)
	}
}

// checkEnd checks that all data is as last written, and that reads of watched owners' past data are unchanged.
func (p *scriptRun) checkEnd() {
	p.Helper()
	for _, o := range p.owners {
		p.checkLastWritten(o)
		p.checkWatched(o)
	}
}

// checkResult compares a result with the result that the step expects.
func (p *scriptRun) checkResult(l *scriptStep, answer any, err error) {
	p.Helper()
	if want := l.expectedError(); want != nil {
		if !errors.Is(err, want) {
			p.Errorf("%s\ngot %+v and error %v", l.text, answer, err)
		}
		return
	}
	if err != nil {
		p.Fatalf("%s\ngot error %v", l.text, err)
	}
	rows := rowsOf(answer)
	for _, row := range rows {
		p.checkRow(l, row.Interface())
		if t, ok := findInvalidTime(row); ok {
			p.Errorf("%s\ngot the time %#v, want UTC and microseconds", l.text, t)
		}
	}
	if !l.expectsResult {
		return
	}
	want, more := slices.Clone(l.want), false
	if n := len(want); n > 0 && isSingleWord(want[n-1], "...") {
		want, more = want[:n-1], true
	}
	if len(want) == 1 && isSingleWord(want[0], "nothing") {
		want = nil
	}
	if len(rows) != len(want) || more != l.hasMore {
		p.Errorf("%s\ngot %s", l.text, formatRows(rows, l.hasMore))
		return
	}
	for i, row := range rows {
		if wrong := p.rowDifference(row, want[i]); wrong != "" {
			p.Errorf("%s\nrow %d: %s\ngot %s", l.text, i+1, wrong, formatRows(rows, l.hasMore))
		}
	}
}

// expectedError returns the error that the step expects, nil if the step must succeed.
func (l *scriptStep) expectedError() error {
	switch {
	case len(l.want) != 1 || len(l.want[0]) != 2 || l.want[0][0] != word{value: "error"}:
		return nil
	case l.want[0][1].value == "canceled":
		return context.Canceled
	}
	return memory.Code(l.want[0][1].value)
}

// expectsNoChange reports whether the step expects that no data changes.
func (l *scriptStep) expectsNoChange() bool {
	return l.expectedError() != nil || len(l.want) == 1 && slices.Contains(l.want[0], word{key: "again", value: "true"})
}

// checkRow checks that a claimed job has a new lease, which it records, and that a trace equals the saved trace.
func (p *scriptRun) checkRow(l *scriptStep, row any) {
	p.Helper()
	switch row := row.(type) {
	case memory.Job:
		if l.verb != "claim" {
			return
		}
		if row.State != memory.JobRunning || row.Lease.Owner != row.Owner || row.Lease.Job != row.ID || row.Lease.Token == "" || row.Lease.Token == p.leases[row.ID].Token {
			p.Errorf("%s\ngot %+v, want a running job with a new lease", l.text, row)
		}
		p.leases[row.ID], p.leases[l.label] = row.Lease, row.Lease
	case memory.Trace:
		p.checkEqual(l.text, row, p.savedTraces[string(row.Owner)+" "+row.ID])
		p.checkEqual("the time of "+l.text, row.At, memory.Time(row.At))
	}
}

// findInvalidTime returns a time in v that is not in the form of [memory.Time], and whether v contains one.
func findInvalidTime(v reflect.Value) (invalid time.Time, found bool) {
	switch v.Kind() {
	case reflect.Pointer:
		return findInvalidTime(v.Elem())
	case reflect.Slice:
		for i := 0; i < v.Len() && !found; i++ {
			invalid, found = findInvalidTime(v.Index(i))
		}
	case reflect.Struct:
		if t, is := v.Interface().(time.Time); is {
			return t, t != memory.Time(t)
		}
		for i := 0; i < v.NumField() && !found; i++ {
			invalid, found = findInvalidTime(v.Field(i))
		}
	}
	return invalid, found
}

// checkAbsent checks that no read of an owner's data, present or past, returns a word.
func (p *scriptRun) checkAbsent(owner memory.Owner, word string) {
	p.Helper()
	all := map[string]any{"the present": p.readSnapshot(owner)}
	for name, at := range p.writeTimes {
		all["the past as of "+name] = p.readExport(owner, memory.At{AsOf: at})
	}
	for readName, v := range all {
		data, err := json.Marshal(v)
		p.must("marshal", err)
		if strings.Contains(strings.ToLower(string(data)), word) {
			p.Errorf("%s still contains %s: %s", readName, word, data)
		}
	}
	if found := p.list(owner, memory.Query{Kinds: allKinds, Statuses: allStatuses, Text: word}); len(found) > 0 {
		p.Errorf("found by %s: %+v", word, found)
	}
}

// writeSamples writes one record of each kind for an owner, with the same ids for all owners.
func (p *scriptRun) writeSamples(owner memory.Owner) {
	p.Helper()
	p.runSteps(strings.ReplaceAll(sampleScript, "$o", string(owner)))
}

const sampleScript = `
append $o c hello hi: job job
apply $o as=furnish:
	add fact:fact "a fact"; vector fact "a fact"; add summary:summary "of $o"; link link:linked; add profile:key $o;
	add relation:fact:other:refines; add context:style $o; update conversation:c title=$o
save-traces 5: owner=$o id=trace question=$o
`

func isSingleWord(row []word, text string) bool { return len(row) == 1 && row[0] == word{value: text} }

func rowsOf(answer any) []reflect.Value {
	v := reflect.ValueOf(answer)
	if !v.IsValid() {
		return nil
	}
	if v.Kind() != reflect.Slice {
		return []reflect.Value{v}
	}
	rows := make([]reflect.Value, v.Len())
	for i := range rows {
		rows[i] = v.Index(i)
	}
	return rows
}

// rowDifference describes how a row differs from the expected row, or returns "".
func (p *scriptRun) rowDifference(row reflect.Value, want []word) string {
	if counts, ok := row.Interface().(memory.Counts); ok { // counts that want does not name must be 0
		var all memory.Counts
		p.fillFields(&all, want)
		return difference(counts, all)
	}
	for _, w := range want {
		if w.key == "" {
			if name := rowName(row); name != w.value {
				return fmt.Sprintf("want %q", w.value)
			}
			continue
		}
		got := valueAtPath(row, w.key)
		if !got.IsValid() {
			if w.value == "" {
				continue
			}
			return fmt.Sprintf("the row has no %s, want %q", w.key, w.value)
		}
		wanted := reflect.New(got.Type()).Elem()
		if err := p.parseInto(wanted, w.value); err != nil {
			return fmt.Sprintf("%s=%s: %v", w.key, w.value, err)
		}
		if diff := difference(got.Interface(), wanted.Interface()); diff != "" {
			return fmt.Sprintf("%s is %v, want %q", w.key, got.Interface(), w.value)
		}
	}
	return ""
}

func formatRows(rows []reflect.Value, hasMore bool) string {
	var out []string
	for _, row := range rows {
		out = append(out, fmt.Sprintf("%s %+v", rowName(row), row.Interface()))
	}
	if hasMore {
		out = append(out, "...")
	}
	return fmt.Sprintf("%d rows\n\t%s", len(rows), strings.Join(out, "\n\t"))
}

// fillFields sets the fields of a struct from the KEY=VALUE words.
func (p *scriptRun) fillFields(into any, words []word) {
	p.Helper()
	for _, w := range words {
		if w.key == "" {
			continue
		}
		if err := p.setField(reflect.ValueOf(into), w); err != nil {
			p.Fatalf("%s=%s: %v", w.key, w.value, err)
		}
	}
}

// nextArg removes the first plain word of the step's arguments and returns it.
func (p *scriptRun) nextArg(l *scriptStep) string {
	p.Helper()
	i := slices.IndexFunc(l.args, func(w word) bool { return w.key == "" })
	if i < 0 {
		p.Fatalf("%s: a word is missing", l.text)
	}
	w := l.args[i]
	l.args = slices.Delete(slices.Clone(l.args), i, i+1)
	return w.value
}

// plainWords returns the plain words among words.
func plainWords(words []word) []string {
	var out []string
	for _, w := range words {
		if w.key == "" {
			out = append(out, w.value)
		}
	}
	return out
}

// recordWrite calls makeWrite and records the changes if the write succeeds. It checks that a refused or
// repeated write changes no data.
func (p *scriptRun) recordWrite(l *scriptStep, owner memory.Owner, changes []memory.Change, makeWrite func() (memory.Receipt, error)) (memory.Receipt, error) {
	p.Helper()
	var before snapshot
	idle := l.expectsNoChange() && owner.Valid() && p.ctx.Err() == nil
	if idle {
		before = p.readSnapshot(owner)
	}
	receipt, err := makeWrite()
	if idle {
		p.checkEqual(l.text+"\nmust change no data", p.readSnapshot(owner), before)
	}
	if err != nil || receipt.Again {
		return receipt, err
	}
	if p.latestStates[owner] == nil {
		p.latestStates[owner], p.writtenTurns[owner] = map[string]memory.State{}, map[string]memory.Turn{}
		p.owners = append(p.owners, owner)
	}
	if last := p.writeTimes[string(owner)]; !receipt.At.After(last) {
		p.Errorf("%s\nhas the time %v, want later than the previous write at %v", l.text, receipt.At, last)
	}
	p.writeTimes[string(owner)], p.writeTimes[l.label] = receipt.At, receipt.At
	if _, ok := p.watchedExports[owner]; ok && receipt.Version%p.exportInterval == 0 {
		p.watchedExports[owner] = append(p.watchedExports[owner], timedExport{receipt.At, p.readExport(owner, memory.At{})})
	}
	for _, c := range changes[:min(receipt.Changes, len(changes))] {
		p.latestStates[owner][c.After.Target()] = c.After
	}
	return receipt, nil
}

// checkLastWritten checks that an owner's data is as last written by the script, and that the journal agrees.
func (p *scriptRun) checkLastWritten(owner memory.Owner) {
	p.Helper()
	now := p.currentStates(owner)
	for target, want := range p.latestStates[owner] {
		if got, ok := now[target]; ok || want.Status() == memory.Active {
			p.checkEqual("as last written: "+target+" of "+string(owner), got, want, ignoreStoreFields)
		}
		journal := p.changes(owner, memory.ChangeQuery{Target: target, Limit: 1})
		if len(journal) != 1 {
			p.Errorf("the journal of %s has no change of %s", owner, target)
			continue
		}
		p.checkEqual("as journalled: "+target+" of "+string(owner), journal[0].After, want, ignoreStoreFields)
	}
	for id, want := range p.writtenTurns[owner] {
		if turnState, ok := p.latestStates[owner]["turn:"+id]; ok {
			want.Status = turnState.Status()
		}
		p.checkEqual("as appended: "+id, p.get(owner, id), []memory.Memory{{Turn: &want}}, ignoreStoreFields)
	}
}

// currentStates returns the states of an owner's data by target. Of profile entries, relations and contexts
// it returns only the active ones.
func (p *scriptRun) currentStates(owner memory.Owner) map[string]memory.State {
	p.Helper()
	all := p.readSnapshot(owner)
	states := map[string]memory.State{}
	add := func(i memory.State) { states[i.Target()] = i }
	for _, m := range all.Export.Memories {
		switch {
		case m.Link != nil:
			add(memory.State{Link: m.Link})
		case m.Turn != nil:
			add(memory.State{Turn: &memory.TurnState{ID: m.Turn.ID, Status: m.Turn.Status}})
		default:
			add(memory.State{Fact: m.Fact, Summary: m.Summary})
		}
	}
	for _, e := range all.Export.Profile {
		add(memory.State{Profile: &e})
	}
	for _, thing := range p.latestStates[owner] {
		if thing.Relation == nil {
			continue
		}
		relations, err := p.Relations(p.ctx, owner, thing.Relation.From, memory.At{})
		p.must("relations", err)
		for _, e := range relations {
			add(memory.State{Relation: &e})
		}
	}
	for _, c := range all.Export.Contexts {
		add(memory.State{Context: &c})
	}
	for _, c := range all.Conversations {
		conversation := c.State()
		add(memory.State{Conversation: &conversation})
	}
	return states
}

// ignoreStoreFields ignores fields that the store sets, and compares times as rounded by stores.
var ignoreStoreFields = cmp.Options{
	ignoreVersions,
	cmp.FilterPath(func(path cmp.Path) bool {
		field, ok := path.Last().(cmp.StructField)
		return ok && (field.Name() == "RecordedAt" || field.Name() == "LearnedAt")
	}, cmp.Ignore()),
	cmp.Comparer(func(a, b time.Time) bool { return memory.Time(a).Equal(memory.Time(b)) }),
}

// checkWatched checks that reads as of each write, and as of a microsecond before the next write, return the
// watched data of that time.
func (p *scriptRun) checkWatched(owner memory.Owner) {
	p.Helper()
	moments := p.watchedExports[owner]
	for i, m := range moments {
		p.checkEqual(fmt.Sprintf("as of write %d of %s", i, owner), p.readExport(owner, memory.At{AsOf: m.at}), m.data, ignoreVersions)
		if i > 0 && p.exportInterval == 1 {
			p.checkEqual(fmt.Sprintf("as of just before write %d of %s", i, owner), p.readExport(owner, memory.At{AsOf: m.at.Add(-time.Microsecond)}), moments[i-1].data, ignoreVersions)
		}
	}
}

// latestState returns the latest written state of a target, or a sample for a new target.
func (p *scriptRun) latestState(owner memory.Owner, target string) memory.State {
	p.Helper()
	kind, id, _ := strings.Cut(target, ":")
	if kind == "conversation" {
		conversation, _ := p.conversationState(owner, id)
		return memory.State{Conversation: &conversation}
	}
	if latest, ok := p.stepStates[target]; ok {
		return cloneState(latest)
	}
	if latest, ok := p.latestStates[owner][target]; ok {
		return cloneState(latest)
	}
	return p.sampleState(owner, kind, id)
}

// conversationState returns the changeable part of a conversation, and whether the conversation exists.
func (p *scriptRun) conversationState(owner memory.Owner, id string) (memory.ConversationState, bool) {
	p.Helper()
	page, err := p.Conversations(p.ctx, owner, memory.ConversationQuery{IDs: []string{id}})
	p.must("conversations", err)
	if len(page.Conversations) != 1 {
		return memory.ConversationState{ID: id, Status: memory.Active}, false
	}
	return page.Conversations[0].State(), true
}

func (p *scriptRun) sampleState(owner memory.Owner, kind, id string) memory.State {
	switch kind {
	case "fact":
		f := memtest.Fact(owner, id)
		f.ID = id
		return memory.State{Fact: &f}
	case "link":
		home := p.latestState(team, "fact:"+id)
		l := memtest.Link(owner, *home.Fact)
		return memory.State{Link: &l}
	case "profile":
		e := memtest.Profile(owner, id, "")
		return memory.State{Profile: &e}
	case "relation":
		ends := append(strings.Split(id, ":"), "", "")
		e := memtest.Relation(owner, ends[0], ends[1], memory.RelationKind(ends[2]))
		return memory.State{Relation: &e}
	case "summary":
		s := memtest.Summary(owner, "c", id)
		s.ID = id
		return memory.State{Summary: &s}
	case "turn":
		return memory.State{Turn: &memory.TurnState{ID: id, Status: memory.Active}}
	case "context":
		c := memtest.Context(owner, id, "")
		c.ID = id
		return memory.State{Context: &c}
	}
	return memory.State{}
}

// cloneState returns a copy of state that shares no struct with the original.
func cloneState(state memory.State) memory.State {
	v := reflect.ValueOf(&state).Elem()
	for n := range v.NumField() {
		if field := v.Field(n); !field.IsNil() {
			copied := reflect.New(field.Type().Elem())
			copied.Elem().Set(field.Elem())
			field.Set(copied)
		}
	}
	return state
}

// targetPointer returns the pointer that is set in a state, or the zero Value if none is set.
func targetPointer(state *memory.State) reflect.Value {
	v := reflect.ValueOf(state).Elem()
	for n := range v.NumField() {
		if !v.Field(n).IsNil() {
			return v.Field(n)
		}
	}
	return reflect.Value{}
}

// undoChanges returns the changes that revert changes, newest first: each target returns to its previous
// state, and added targets are retired.
func undoChanges(changes []memory.Change) []memory.Change {
	var reverts []memory.Change
	for _, c := range changes {
		after := c.Before
		if after.IsZero() {
			after = cloneState(c.After)
			fieldOf(targetPointer(&after).Elem(), "status").SetString(string(memory.Retired))
		}
		reverts = append(reverts, memory.Change{Action: memory.ActionUndo, After: after, Author: memtest.Person})
	}
	return reverts
}
