package sqlstore

import (
	"cmp"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/loci-memory/loci/memory"
)

// scanner is a row that can be read.
type scanner interface{ Scan(into ...any) error }

// yearOne is how many seconds the zero time lies before 1970.
const yearOne = 62135596800

// micros is t as it is stored: microseconds since the zero time.
func micros(t time.Time) int64 {
	return (t.Unix()+yearOne)*1_000_000 + int64(t.Nanosecond()/1000)
}

// asTime scans what micros made.
type asTime struct{ t *time.Time }

func (a asTime) Scan(src any) error {
	n, ok := src.(int64)
	if !ok {
		return fmt.Errorf("a time is an integer, not %T", src)
	}
	if n < -lastMicro || n > lastMicro {
		return errors.New("a time is out of range")
	}
	*a.t = fromMicros(n)
	return nil
}

// lastMicro ends the year 9999, beyond which JSON has no times.
const lastMicro = (253402300799+yearOne)*1_000_000 + 999_999

func fromMicros(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(n/1_000_000-yearOne, n%1_000_000*1000).UTC()
}

// list is a list of texts as it is stored.
func list(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	data, _ := json.Marshal(texts) // strings always marshal
	return string(data)
}

// listed are the texts of json_each(?) as an argument.
type listed []string

// Value returns JSON, which is what SQLite is given.
func (l listed) Value() (driver.Value, error) { return cmp.Or(list(l), `[]`), nil }

// asList scans what list made.
type asList struct{ texts *[]string }

func (a asList) Scan(src any) error {
	s, ok := src.(string)
	if !ok {
		return fmt.Errorf("a list is a text, not %T", src)
	}
	if s == "" {
		return nil
	}
	return json.Unmarshal([]byte(s), a.texts)
}

// asJSON scans a JSON text into a value.
type asJSON struct{ value any }

func (a asJSON) Scan(src any) error {
	s, ok := src.(string)
	if !ok {
		return fmt.Errorf("JSON is a text, not %T", src)
	}
	return json.Unmarshal([]byte(s), a.value)
}

func toJSON(value any) (string, error) {
	data, err := json.Marshal(value)
	return string(data), err
}

const factColumns = `id, project, agent, conversation, content, category, tags, subject, attribute,
	confidence, status, source, trust, pinned, core_never, from_conversation, from_turns, quote_turn, quote_start, quote_end,
	observed_at, observed_seq, valid_from, valid_to, created_at, updated_at, expires_at, superseded_by, model,
	metadata, hash, version`

func factValues(f *memory.Fact) []any {
	var turn, start, end any
	if q := f.Provenance.Quote; q != nil {
		turn, start, end = q.Turn, q.Start, q.End
	}
	return []any{
		string(f.Scope.Owner), f.ID, f.Scope.Project, f.Scope.Agent, f.Scope.Conversation, f.Content, f.Category,
		list(f.Tags), f.Subject, f.Attribute, f.Confidence, string(f.Status), string(f.Source), string(f.Trust),
		f.Pinned(), f.Core == memory.CoreNever, f.Provenance.Conversation, list(f.Provenance.Turns), turn, start, end, micros(f.ObservedAt),
		f.ObservedSeq, micros(f.ValidFrom), micros(f.ValidTo), micros(f.CreatedAt), micros(f.UpdatedAt),
		micros(f.ExpiresAt), f.SupersededBy, f.Model, string(f.Metadata), f.Hash, f.Version,
	}
}

// scanFact reads factColumns, and whatever the query has after them into more.
func scanFact(owner memory.Owner, row scanner, more ...any) (*memory.Fact, error) {
	f := &memory.Fact{Scope: memory.Scope{Owner: owner}}
	var turn sql.NullString
	var start, end sql.NullInt64
	var metadata string
	var always, never bool
	err := row.Scan(append([]any{
		&f.ID, &f.Scope.Project, &f.Scope.Agent, &f.Scope.Conversation, &f.Content, &f.Category, asList{&f.Tags},
		&f.Subject, &f.Attribute, &f.Confidence, &f.Status, &f.Source, &f.Trust, &always, &never,
		&f.Provenance.Conversation, asList{&f.Provenance.Turns}, &turn, &start, &end, asTime{&f.ObservedAt},
		&f.ObservedSeq, asTime{&f.ValidFrom}, asTime{&f.ValidTo}, asTime{&f.CreatedAt}, asTime{&f.UpdatedAt},
		asTime{&f.ExpiresAt}, &f.SupersededBy, &f.Model, &metadata, &f.Hash, &f.Version,
	}, more...)...)
	if f.Core = memory.Pin(always); never && !always {
		f.Core = memory.CoreNever
	}
	if turn.Valid {
		f.Provenance.Quote = &memory.Span{Turn: turn.String, Start: int(start.Int64), End: int(end.Int64)}
	}
	if metadata != "" {
		f.Metadata = json.RawMessage(metadata)
	}
	if err == nil && metadata != "" && !json.Valid(f.Metadata) {
		return nil, &unreadable{"its metadata is not JSON"}
	}
	if err == nil && (math.IsNaN(f.Confidence) || math.IsInf(f.Confidence, 0)) {
		return nil, &unreadable{"its confidence is not a number"}
	}
	return f, err
}

const linkColumns = `status, created_at, fact, hash, home_version, version`

func scanLink(owner memory.Owner, row scanner, more ...any) (*memory.Link, error) {
	l := &memory.Link{Owner: owner}
	err := row.Scan(append([]any{
		&l.Status, asTime{&l.CreatedAt}, asJSON{&l.Fact}, &l.Fact.Hash, &l.HomeVersion, &l.Version,
	}, more...)...)
	l.Fact.Version = l.HomeVersion
	return l, err
}

const turnColumns = `id, conversation, project, agent, place, parent, chain, role, name, content, ref, status,
	created_at, recorded_at, learned_at, no_learn, history, given, foreign_ranges, version`

func turnValues(t *memory.Turn) []any {
	return []any{
		string(t.Owner), t.ID, t.Conversation, t.Project, t.Agent, t.Index, t.Parent, t.Chain, string(t.Role),
		t.Name, t.Content, t.Ref, string(t.Status), micros(t.CreatedAt), micros(t.RecordedAt), micros(t.LearnedAt),
		t.NoLearn, t.History, t.Given, string(t.Foreign), t.Version,
	}
}

func scanTurn(owner memory.Owner, row scanner, more ...any) (*memory.Turn, error) {
	t := &memory.Turn{Owner: owner}
	err := row.Scan(append([]any{
		&t.ID, &t.Conversation, &t.Project, &t.Agent, &t.Index, &t.Parent, &t.Chain, &t.Role, &t.Name, &t.Content,
		&t.Ref, &t.Status, asTime{&t.CreatedAt}, asTime{&t.RecordedAt}, asTime{&t.LearnedAt}, &t.NoLearn, &t.History, &t.Given, &t.Foreign, &t.Version,
	}, more...)...)
	return t, err
}

const summaryColumns = `id, project, agent, conversation, content, message_count, model, status, created_at, version`

func scanSummary(owner memory.Owner, row scanner, more ...any) (*memory.Summary, error) {
	s := &memory.Summary{Scope: memory.Scope{Owner: owner}}
	err := row.Scan(append([]any{
		&s.ID, &s.Scope.Project, &s.Scope.Agent, &s.Scope.Conversation, &s.Text, &s.MessageCount, &s.Model,
		&s.Status, asTime{&s.CreatedAt}, &s.Version,
	}, more...)...)
	return s, err
}

const profileColumns = `key, value, tokens, status, updated_at, version`

func scanProfile(owner memory.Owner, row scanner) (memory.ProfileEntry, error) {
	p := memory.ProfileEntry{Owner: owner}
	err := row.Scan(&p.Key, &p.Value, &p.Tokens, &p.Status, asTime{&p.UpdatedAt}, &p.Version)
	return p, err
}

const relationColumns = `from_fact, to_fact, kind, status, created_at, version`

func scanRelation(owner memory.Owner, row scanner) (memory.Relation, error) {
	r := memory.Relation{Owner: owner}
	err := row.Scan(&r.From, &r.To, &r.Kind, &r.Status, asTime{&r.CreatedAt}, &r.Version)
	return r, err
}
