package sqlstore

import (
	"slices"
	"strings"
	"sync"

	"github.com/loci-memory/loci/memory"
)

// stateTable describes the table for one kind of state. A row has the owner and the columns.
type stateTable struct {
	name, kind string        // name of the table, and kind in its targets ("fact" in "fact:ID")
	columns    string        // names of the columns except owner
	key        string        // SQL expression for the part of a target after the kind (ID in "fact:ID")
	upsertSQL  func() string // returns the SQL that inserts or replaces a row
	newState   func(memory.Owner) memory.State
	fields     func(memory.State) []any // the fields of a state, in the order of the columns
}

// newStateTable returns the description of a table whose primary key is the owner and keys.
func newStateTable(name, kind, columns string, keys []string, newState func(memory.Owner) memory.State, fields func(memory.State) []any) stateTable {
	return stateTable{name, kind, columns, strings.Join(keys, ` || ':' || `), sync.OnceValue(func() string { return upsertQuery(name, columns, keys) }), newState, fields}
}

// upsertQuery returns the statement that inserts a row, or replaces the row with the same keys.
func upsertQuery(name, columns string, keys []string) string {
	all := strings.Split(strings.Join(strings.Fields(columns), ""), ",")
	var set []string
	for _, column := range all {
		if !slices.Contains(keys, column) {
			set = append(set, column+` = excluded.`+column)
		}
	}
	return insertQuery(name, columns) + ` ON CONFLICT (owner, ` + strings.Join(keys, `, `) + `) DO UPDATE SET ` + strings.Join(set, `, `)
}

// insertQuery returns the statement that inserts a row with the owner and the columns.
func insertQuery(name, columns string) string {
	return `INSERT INTO ` + name + ` (owner, ` + columns + `) VALUES (?` + strings.Repeat(`, ?`, strings.Count(columns, ",")+1) + `)`
}

// scan reads a state from a row, and columns after those of the table into extraDest.
func (t stateTable) scan(owner memory.Owner, row scanner, extraDest ...any) (memory.State, error) {
	state := t.newState(owner)
	err := row.Scan(append(t.fields(state), extraDest...)...)
	if l := state.Link; l != nil {
		l.Fact.Version = l.HomeVersion
	}
	return state, err
}

// memoryTable returns a description of the same table for reading memories instead of states.
func (t stateTable) memoryTable() memoryTable {
	return memoryTable{t.name, t.kind + ":", t.columns, func(o memory.Owner, row scanner, extraDest ...any) (memory.Memory, error) {
		image, err := t.scan(o, row, extraDest...)
		return memoryOf(image), err
	}}
}

// memoryOf returns the memory in a state.
func memoryOf(state memory.State) memory.Memory {
	m := memory.Memory{Fact: state.Fact, Summary: state.Summary, Link: state.Link}
	if state.Link != nil {
		m.Fact = &state.Link.Fact
	}
	return m
}

var factTable = newStateTable("facts", "fact", `id, project, agent, conversation, content, category, tags, subject, attribute, confidence,
	status, source, trust, pinned, core_never, from_conversation, from_turns, quote_turn, quote_start, quote_end, observed_at, observed_seq,
	valid_from, valid_to, created_at, updated_at, expires_at, superseded_by, model, metadata, hash, version`, []string{"id"},
	func(o memory.Owner) memory.State {
		return memory.State{Fact: &memory.Fact{Scope: memory.Scope{Owner: o}}}
	},
	func(i memory.State) []any {
		f, from := i.Fact, &i.Fact.Provenance
		return []any{
			&f.ID, &f.Scope.Project, &f.Scope.Agent, &f.Scope.Conversation, &f.Content, &f.Category, listColumn{&f.Tags}, &f.Subject, &f.Attribute, numberColumn{&f.Confidence},
			&f.Status, &f.Source, &f.Trust, coreColumn{&f.Core, memory.CoreAlways}, coreColumn{&f.Core, memory.CoreNever}, &from.Conversation, listColumn{&from.Turns},
			quoteColumn{&from.Quote, func(q *memory.Span) any { return &q.Turn }}, quoteColumn{&from.Quote, func(q *memory.Span) any { return &q.Start }}, quoteColumn{&from.Quote, func(q *memory.Span) any { return &q.End }},
			timeColumn{&f.ObservedAt}, &f.ObservedSeq, timeColumn{&f.ValidFrom}, timeColumn{&f.ValidTo}, timeColumn{&f.CreatedAt}, timeColumn{&f.UpdatedAt}, timeColumn{&f.ExpiresAt},
			&f.SupersededBy, &f.Model, rawJSONColumn{&f.Metadata}, &f.Hash, &f.Version,
		}
	})

// The columns fact_status and fact_created_at repeat fields of the fact's JSON, for conditions in SQL.
var linkTable = newStateTable("links", "link", `id, home, fact, fact_status, fact_created_at, status, created_at, hash, home_version, version`, []string{"id"},
	func(o memory.Owner) memory.State { return memory.State{Link: &memory.Link{Owner: o}} },
	func(i memory.State) []any {
		l, f := i.Link, &i.Link.Fact
		return []any{&f.ID, &f.Scope.Owner, jsonColumn{f}, &f.Status, timeColumn{&f.CreatedAt}, &l.Status, timeColumn{&l.CreatedAt}, &f.Hash, &l.HomeVersion, &l.Version}
	})

var summaryTable = newStateTable("summaries", "summary", `id, project, agent, conversation, content, message_count, model, status, created_at, version`, []string{"id"},
	func(o memory.Owner) memory.State {
		return memory.State{Summary: &memory.Summary{Scope: memory.Scope{Owner: o}}}
	},
	func(i memory.State) []any {
		s := i.Summary
		return []any{&s.ID, &s.Scope.Project, &s.Scope.Agent, &s.Scope.Conversation, &s.Text, &s.MessageCount, &s.Model, &s.Status, timeColumn{&s.CreatedAt}, &s.Version}
	})

var profileTable = newStateTable("profile", "profile", `key, value, tokens, status, updated_at, version`, []string{"key"},
	func(o memory.Owner) memory.State { return memory.State{Profile: &memory.ProfileEntry{Owner: o}} },
	func(i memory.State) []any {
		p := i.Profile
		return []any{&p.Key, &p.Value, &p.Tokens, &p.Status, timeColumn{&p.UpdatedAt}, &p.Version}
	})

var relationTable = newStateTable("relations", "relation", `from_fact, to_fact, kind, status, created_at, version`, []string{"from_fact", "to_fact", "kind"},
	func(o memory.Owner) memory.State { return memory.State{Relation: &memory.Relation{Owner: o}} },
	func(i memory.State) []any {
		r := i.Relation
		return []any{&r.From, &r.To, &r.Kind, &r.Status, timeColumn{&r.CreatedAt}, &r.Version}
	})

var contextTable = newStateTable("contexts", "context", `id, title, content, status, created_at, updated_at, version`, []string{"id"},
	func(o memory.Owner) memory.State { return memory.State{Context: &memory.Context{Owner: o}} },
	func(i memory.State) []any {
		c := i.Context
		return []any{&c.ID, &c.Title, &c.Content, &c.Status, timeColumn{&c.CreatedAt}, timeColumn{&c.UpdatedAt}, &c.Version}
	})

// stateTables lists the tables whose rows are complete states: of all kinds but turn and conversation.
var stateTables = []stateTable{factTable, linkTable, summaryTable, profileTable, relationTable, contextTable}

const turnColumns = `id, conversation, project, agent, place, parent, chain, role, name, content, ref, status,
	created_at, recorded_at, learned_at, no_learn, history, given, foreign_ranges, version`

func turnFields(t *memory.Turn) []any {
	return []any{
		&t.ID, &t.Conversation, &t.Project, &t.Agent, &t.Index, &t.Parent, &t.Chain, &t.Role, &t.Name, &t.Content, &t.Ref, &t.Status,
		timeColumn{&t.CreatedAt}, timeColumn{&t.RecordedAt}, timeColumn{&t.LearnedAt}, &t.NoLearn, &t.History, &t.Injected, &t.Foreign, &t.Version,
	}
}

func scanTurn(owner memory.Owner, row scanner, extraDest ...any) (*memory.Turn, error) {
	t := &memory.Turn{Owner: owner}
	err := row.Scan(append(turnFields(t), extraDest...)...)
	return t, err
}

const conversationColumns = `id, project, agent, title, contexts, rules, message_count, created_at, updated_at, status, version`

func conversationFields(c *memory.Conversation) []any {
	return []any{&c.ID, &c.Project, &c.Agent, &c.Title, listColumn{&c.Contexts}, &c.Rules, &c.MessageCount, timeColumn{&c.CreatedAt}, timeColumn{&c.UpdatedAt}, &c.Status, &c.Version}
}

func scanConversation(owner memory.Owner, row scanner) (memory.Conversation, error) {
	c := memory.Conversation{Owner: owner}
	err := row.Scan(conversationFields(&c)...)
	return c, err
}

const jobColumns = `id, kind, conversation, turns, state, attempts, run_at, created_at, error, token, lease_until`

var (
	insertTurn         = insertQuery("turns", turnColumns)
	insertConversation = insertQuery("conversations", conversationColumns)
	insertJob          = insertQuery("jobs", jobColumns)
)

func jobFields(j *memory.Job) []any {
	return []any{&j.ID, &j.Kind, &j.Conversation, listColumn{&j.Turns}, &j.State, &j.Attempts, timeColumn{&j.RunAt}, timeColumn{&j.CreatedAt}, &j.Error, &j.Lease.Token, timeColumn{&j.Lease.Until}}
}

// scanJob reads a row whose columns are the owner and jobColumns.
func scanJob(row scanner) (memory.Job, error) {
	var j memory.Job
	err := row.Scan(append([]any{&j.Owner}, jobFields(&j)...)...)
	if j.Lease.Token == "" {
		j.Lease = memory.Lease{}
	} else {
		j.Lease.Owner, j.Lease.Job = j.Owner, j.ID
	}
	return j, err
}
