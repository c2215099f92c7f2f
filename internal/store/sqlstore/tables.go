package sqlstore

import (
	"slices"
	"strings"
	"sync"

	"github.com/loci-memory/loci/memory"
)

// stateTable describes the table for one kind of state. A row has the owner and the columns.
type table struct {
	name, kind string // name of the table, and kind in its targets ("fact" in "fact:ID")
	columns    string
	key        string        // SQL expression for the part of a target after the kind
	upsert     func() string // returns the SQL that inserts or replaces a row
	empty      func(memory.Owner) memory.Image
	fields     func(memory.Image) []any // the fields of a state, in the order of the columns
}

// newStateTable returns a table whose primary key is the owner and the columns in keys.
func newTable(name, kind, columns string, keys []string, empty func(memory.Owner) memory.Image, fields func(memory.Image) []any) table {
	return table{name, kind, columns, strings.Join(keys, ` || ':' || `), sync.OnceValue(func() string { return upsert(name, columns, keys) }), empty, fields}
}

// upsertQuery returns the statement that inserts a row, or replaces the row with the same keys.
func upsert(name, columns string, keys []string) string {
	all := strings.Split(strings.Join(strings.Fields(columns), ""), ",")
	var set []string
	for _, column := range all {
		if !slices.Contains(keys, column) {
			set = append(set, column+` = excluded.`+column)
		}
	}
	return insertInto(name, columns) + ` ON CONFLICT (owner, ` + strings.Join(keys, `, `) + `) DO UPDATE SET ` + strings.Join(set, `, `)
}

// insertQuery returns the statement that inserts a row with the owner and the columns.
func insertInto(name, columns string) string {
	return `INSERT INTO ` + name + ` (owner, ` + columns + `) VALUES (?` + strings.Repeat(`, ?`, strings.Count(columns, ",")+1) + `)`
}

// scan reads a state from a row.
func (t table) scan(owner memory.Owner, row scanner, more ...any) (memory.Image, error) {
	image := t.empty(owner)
	err := row.Scan(append(t.fields(image), more...)...)
	if l := image.Link; l != nil {
		l.Fact.Version = l.HomeVersion
	}
	return image, err
}

// memoryTable returns the same table as a table of memories.
func (t table) source() source {
	return source{t.name, t.kind + ":", t.columns, func(o memory.Owner, row scanner, more ...any) (memory.Memory, error) {
		image, err := t.scan(o, row, more...)
		return memoryIn(image), err
	}}
}

// memoryOf returns the memory in a state.
func memoryIn(image memory.Image) memory.Memory {
	m := memory.Memory{Fact: image.Fact, Summary: image.Summary, Link: image.Link}
	if image.Link != nil {
		m.Fact = &image.Link.Fact
	}
	return m
}

var factTable = newTable("facts", "fact", `id, project, agent, conversation, content, category, tags, subject, attribute, confidence,
	status, source, trust, pinned, core_never, from_conversation, from_turns, quote_turn, quote_start, quote_end, observed_at, observed_seq,
	valid_from, valid_to, created_at, updated_at, expires_at, superseded_by, model, metadata, hash, version`, []string{"id"},
	func(o memory.Owner) memory.Image {
		return memory.Image{Fact: &memory.Fact{Scope: memory.Scope{Owner: o}}}
	},
	func(i memory.Image) []any {
		f, from := i.Fact, &i.Fact.Provenance
		return []any{
			&f.ID, &f.Scope.Project, &f.Scope.Agent, &f.Scope.Conversation, &f.Content, &f.Category, asList{&f.Tags}, &f.Subject, &f.Attribute, asNumber{&f.Confidence},
			&f.Status, &f.Source, &f.Trust, asCore{&f.Core, memory.CoreAlways}, asCore{&f.Core, memory.CoreNever}, &from.Conversation, asList{&from.Turns},
			asQuote{&from.Quote, func(q *memory.Span) any { return &q.Turn }}, asQuote{&from.Quote, func(q *memory.Span) any { return &q.Start }}, asQuote{&from.Quote, func(q *memory.Span) any { return &q.End }},
			asTime{&f.ObservedAt}, &f.ObservedSeq, asTime{&f.ValidFrom}, asTime{&f.ValidTo}, asTime{&f.CreatedAt}, asTime{&f.UpdatedAt}, asTime{&f.ExpiresAt},
			&f.SupersededBy, &f.Model, asText{&f.Metadata}, &f.Hash, &f.Version,
		}
	})

// The columns fact_status and fact_created_at repeat fields of the fact's JSON, for conditions in SQL.
var linkTable = newTable("links", "link", `id, home, fact, fact_status, fact_created_at, status, created_at, hash, home_version, version`, []string{"id"},
	func(o memory.Owner) memory.Image { return memory.Image{Link: &memory.Link{Owner: o}} },
	func(i memory.Image) []any {
		l, f := i.Link, &i.Link.Fact
		return []any{&f.ID, &f.Scope.Owner, asJSON{f}, &f.Status, asTime{&f.CreatedAt}, &l.Status, asTime{&l.CreatedAt}, &f.Hash, &l.HomeVersion, &l.Version}
	})

var summaryTable = newTable("summaries", "summary", `id, project, agent, conversation, content, message_count, model, status, created_at, version`, []string{"id"},
	func(o memory.Owner) memory.Image {
		return memory.Image{Summary: &memory.Summary{Scope: memory.Scope{Owner: o}}}
	},
	func(i memory.Image) []any {
		s := i.Summary
		return []any{&s.ID, &s.Scope.Project, &s.Scope.Agent, &s.Scope.Conversation, &s.Text, &s.MessageCount, &s.Model, &s.Status, asTime{&s.CreatedAt}, &s.Version}
	})

var profileTable = newTable("profile", "profile", `key, value, tokens, status, updated_at, version`, []string{"key"},
	func(o memory.Owner) memory.Image { return memory.Image{Profile: &memory.ProfileEntry{Owner: o}} },
	func(i memory.Image) []any {
		p := i.Profile
		return []any{&p.Key, &p.Value, &p.Tokens, &p.Status, asTime{&p.UpdatedAt}, &p.Version}
	})

var relationTable = newTable("relations", "relation", `from_fact, to_fact, kind, status, created_at, version`, []string{"from_fact", "to_fact", "kind"},
	func(o memory.Owner) memory.Image { return memory.Image{Relation: &memory.Relation{Owner: o}} },
	func(i memory.Image) []any {
		r := i.Relation
		return []any{&r.From, &r.To, &r.Kind, &r.Status, asTime{&r.CreatedAt}, &r.Version}
	})

var contextTable = newTable("contexts", "context", `id, title, content, status, created_at, updated_at, version`, []string{"id"},
	func(o memory.Owner) memory.Image { return memory.Image{Context: &memory.Context{Owner: o}} },
	func(i memory.Image) []any {
		c := i.Context
		return []any{&c.ID, &c.Title, &c.Content, &c.Status, asTime{&c.CreatedAt}, asTime{&c.UpdatedAt}, &c.Version}
	})

// stateTables lists the tables whose rows are complete states.
var thingTables = []table{factTable, linkTable, summaryTable, profileTable, relationTable, contextTable}

const turnColumns = `id, conversation, project, agent, place, parent, chain, role, name, content, ref, status,
	created_at, recorded_at, learned_at, no_learn, history, given, foreign_ranges, version`

func turnFields(t *memory.Turn) []any {
	return []any{
		&t.ID, &t.Conversation, &t.Project, &t.Agent, &t.Index, &t.Parent, &t.Chain, &t.Role, &t.Name, &t.Content, &t.Ref, &t.Status,
		asTime{&t.CreatedAt}, asTime{&t.RecordedAt}, asTime{&t.LearnedAt}, &t.NoLearn, &t.History, &t.Given, &t.Foreign, &t.Version,
	}
}

func scanTurn(owner memory.Owner, row scanner, more ...any) (*memory.Turn, error) {
	t := &memory.Turn{Owner: owner}
	err := row.Scan(append(turnFields(t), more...)...)
	return t, err
}

const conversationColumns = `id, project, agent, title, contexts, rules, message_count, created_at, updated_at, status, version`

func conversationFields(c *memory.Conversation) []any {
	return []any{&c.ID, &c.Project, &c.Agent, &c.Title, asList{&c.Contexts}, &c.Rules, &c.MessageCount, asTime{&c.CreatedAt}, asTime{&c.UpdatedAt}, &c.Status, &c.Version}
}

func scanConversation(owner memory.Owner, row scanner) (memory.Conversation, error) {
	c := memory.Conversation{Owner: owner}
	err := row.Scan(conversationFields(&c)...)
	return c, err
}

const jobColumns = `id, kind, conversation, turns, state, attempts, run_at, created_at, error, token, lease_until`

var (
	insertTurn         = insertInto("turns", turnColumns)
	insertConversation = insertInto("conversations", conversationColumns)
	insertJob          = insertInto("jobs", jobColumns)
)

func jobFields(j *memory.Job) []any {
	return []any{&j.ID, &j.Kind, &j.Conversation, asList{&j.Turns}, &j.State, &j.Attempts, asTime{&j.RunAt}, asTime{&j.CreatedAt}, &j.Error, &j.Lease.Token, asTime{&j.Lease.Until}}
}

// scanJob reads a row with the owner and jobColumns.
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
