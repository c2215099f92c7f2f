package sqlstore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// thingAt asks what stands where like has its target.
func (w *write) thingAt(like memory.Image, found *thing) ask {
	kind, key, _ := strings.Cut(like.Target(), ":")
	query, scan := thingOf(w.owner, kind)
	query, args := query+` = ?`, []any{w.owner, key}
	if r := like.Relation; r != nil { // for the index
		query, args = query+` AND from_fact = ? AND to_fact = ?`, append(args, r.From, r.To)
	}
	return ask{query, args, func(row scanner) (err error) { *found, err = scan(row); return err }}
}

// load returns what stands where like has its target; the zero thing for nothing.
func (w *write) load(like memory.Image) (found thing, err error) {
	err = w.ask(w.thingAt(like, &found))
	return found, wrap("read what is there", err)
}

// thing is what stands of a target, and the version that it is at.
type thing struct {
	memory.Image
	version int64
}

// thingOf is how things of a kind of target are read. The query wants its end,
// which says for which key: what in a target follows the kind.
func thingOf(owner memory.Owner, kind string) (query string, scan func(scanner) (thing, error)) {
	switch kind {
	case "fact":
		return `SELECT ` + factColumns + ` FROM facts WHERE owner = ? AND id`, func(row scanner) (thing, error) {
			f, err := scanFact(owner, row)
			return thing{memory.Image{Fact: f}, f.Version}, err
		}
	case "link":
		return `SELECT ` + linkColumns + ` FROM links WHERE owner = ? AND id`, func(row scanner) (thing, error) {
			l, err := scanLink(owner, row)
			return thing{memory.Image{Link: l}, l.Version}, err
		}
	case "summary":
		return `SELECT ` + summaryColumns + ` FROM summaries WHERE owner = ? AND id`, func(row scanner) (thing, error) {
			s, err := scanSummary(owner, row)
			return thing{memory.Image{Summary: s}, s.Version}, err
		}
	case "profile":
		return `SELECT ` + profileColumns + ` FROM profile WHERE owner = ? AND key`, func(row scanner) (thing, error) {
			p, err := scanProfile(owner, row)
			return thing{memory.Image{Profile: &p}, p.Version}, err
		}
	case "relation":
		return `SELECT ` + relationColumns + ` FROM relations WHERE owner = ? AND from_fact || ':' || to_fact || ':' || kind`, func(row scanner) (thing, error) {
			r, err := scanRelation(owner, row)
			return thing{memory.Image{Relation: &r}, r.Version}, err
		}
	case "context":
		return `SELECT ` + contextColumns + ` FROM contexts WHERE owner = ? AND id`, func(row scanner) (thing, error) {
			c, err := scanContext(owner, row)
			return thing{memory.Image{Context: &c}, c.Version}, err
		}
	case "conversation":
		return `SELECT ` + conversationMarkColumns + ` FROM conversations WHERE owner = ? AND id`, scanConversationMark
	}
	return `SELECT id, status, version FROM turns WHERE owner = ? AND id`, func(row scanner) (thing, error) {
		t := thing{Image: memory.Image{Turn: &memory.TurnMark{}}}
		return t, row.Scan(&t.Turn.ID, &t.Turn.Status, &t.version)
	}
}

// save writes the state after a change over the state before it.
func (w *write) save(c memory.Change) error {
	w.wrote[memoryID(c.After)] = true
	switch after := c.After; {
	case after.Fact != nil:
		return w.saveFact(c.Before.Fact, after.Fact)
	case after.Link != nil:
		return w.saveLink(c.Before.Link, after.Link)
	case after.Profile != nil:
		return w.saveProfile(after.Profile)
	case after.Relation != nil:
		return w.saveRelation(after.Relation)
	case after.Summary != nil:
		return w.saveSummary(c.Before.Summary, after.Summary)
	case after.Context != nil:
		return w.saveContext(after.Context)
	case after.Conversation != nil:
		return w.saveConversationMark(after.Conversation)
	default:
		return w.saveMark(c.Before.Turn, after.Turn)
	}
}

func (w *write) saveFact(before, after *memory.Fact) error {
	err := w.exec(`INSERT INTO facts (owner, `+factColumns+`) VALUES
		(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (owner, id) DO UPDATE SET project = excluded.project, agent = excluded.agent,
		conversation = excluded.conversation, content = excluded.content, category = excluded.category,
		tags = excluded.tags, subject = excluded.subject, attribute = excluded.attribute,
		confidence = excluded.confidence, status = excluded.status, source = excluded.source, trust = excluded.trust,
		pinned = excluded.pinned, core_never = excluded.core_never, from_conversation = excluded.from_conversation, from_turns = excluded.from_turns,
		quote_turn = excluded.quote_turn, quote_start = excluded.quote_start, quote_end = excluded.quote_end,
		observed_at = excluded.observed_at, observed_seq = excluded.observed_seq, valid_from = excluded.valid_from,
		valid_to = excluded.valid_to, created_at = excluded.created_at, updated_at = excluded.updated_at,
		expires_at = excluded.expires_at, superseded_by = excluded.superseded_by, model = excluded.model,
		metadata = excluded.metadata, hash = excluded.hash, version = excluded.version`, factValues(after)...)
	if err != nil {
		return fmt.Errorf("write the fact: %w", err)
	}
	if before == nil {
		before = &memory.Fact{Content: after.Content}
	}
	if err := w.point(`fact_tags`, `tag`, after.ID, before.Tags, after.Tags); err != nil {
		return err
	}
	if err := w.point(`fact_turns`, `turn`, after.ID, before.Provenance.Turns, after.Provenance.Turns); err != nil {
		return err
	}
	return w.reword(after.ID, before.Content, after.Content)
}

// point makes the rows of a table that leads from a column to facts what the
// fact now says.
func (w *write) point(table, column, fact string, before, after []string) error {
	if slices.Equal(before, after) {
		return nil
	}
	for _, gone := range before {
		if err := w.exec(`DELETE FROM `+table+` WHERE owner = ? AND `+column+` = ? AND fact = ?`, w.owner, gone, fact); err != nil {
			return fmt.Errorf("write %s: %w", table, err)
		}
	}
	for _, come := range after {
		if err := w.exec(`INSERT INTO `+table+` (owner, `+column+`, fact) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, w.owner, come, fact); err != nil {
			return fmt.Errorf("write %s: %w", table, err)
		}
	}
	return nil
}

// reword drops the vectors of words that are no more.
func (w *write) reword(id, before, after string) error {
	if before == after {
		return nil
	}
	err := w.exec(`DELETE FROM vectors WHERE owner = ? AND memory = ?`, w.owner, id)
	return wrap("drop the vectors of other words", err)
}

func (w *write) saveLink(before, after *memory.Link) error {
	fact, err := toJSON(after.Fact)
	if err != nil {
		return memory.Errorf(memory.Invalid, "the linked fact: %w", err)
	}
	err = w.exec(`INSERT INTO links (owner, id, home, fact_status, fact_created_at, `+linkColumns+`)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (owner, id) DO UPDATE SET home = excluded.home, home_version = excluded.home_version,
		status = excluded.status, created_at = excluded.created_at, fact = excluded.fact, hash = excluded.hash,
		fact_status = excluded.fact_status, fact_created_at = excluded.fact_created_at, version = excluded.version`,
		after.Owner, after.Fact.ID, after.Fact.Scope.Owner, after.Fact.Status, micros(after.Fact.CreatedAt),
		after.Status, micros(after.CreatedAt), fact, after.Fact.Hash, after.HomeVersion, after.Version)
	if err != nil {
		return fmt.Errorf("write the link: %w", err)
	}
	if before == nil {
		return nil
	}
	return w.reword(after.Fact.ID, before.Fact.Content, after.Fact.Content)
}

func (w *write) saveProfile(p *memory.ProfileEntry) error {
	err := w.exec(`INSERT INTO profile (owner, `+profileColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (owner, key) DO UPDATE SET value = excluded.value, tokens = excluded.tokens,
		status = excluded.status, updated_at = excluded.updated_at, version = excluded.version`,
		p.Owner, p.Key, p.Value, p.Tokens, p.Status, micros(p.UpdatedAt), p.Version)
	return wrap("write the profile entry", err)
}

func (w *write) saveRelation(r *memory.Relation) error {
	err := w.exec(`INSERT INTO relations (owner, `+relationColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (owner, from_fact, to_fact, kind) DO UPDATE SET status = excluded.status,
		created_at = excluded.created_at, version = excluded.version`,
		r.Owner, r.From, r.To, r.Kind, r.Status, micros(r.CreatedAt), r.Version)
	return wrap("write the relation", err)
}

func (w *write) saveSummary(before, after *memory.Summary) error {
	err := w.exec(`INSERT INTO summaries (owner, `+summaryColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (owner, id) DO UPDATE SET project = excluded.project, agent = excluded.agent,
		conversation = excluded.conversation, content = excluded.content, message_count = excluded.message_count,
		model = excluded.model, status = excluded.status, created_at = excluded.created_at, version = excluded.version`,
		after.Scope.Owner, after.ID, after.Scope.Project, after.Scope.Agent, after.Scope.Conversation, after.Text,
		after.MessageCount, after.Model, after.Status, micros(after.CreatedAt), after.Version)
	if err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	if before == nil {
		return nil
	}
	return w.reword(after.ID, before.Text, after.Text)
}

// saveMark gives a turn another status, and keeps its conversation's count.
func (w *write) saveMark(before, after *memory.TurnMark) error {
	err := w.exec(`UPDATE turns SET status = ?, version = ? WHERE owner = ? AND id = ?`,
		after.Status, w.version, w.owner, after.ID)
	if err != nil {
		return fmt.Errorf("mark the turn: %w", err)
	}
	if err := w.remember(before.Status, after); err != nil {
		return err
	}
	var more int
	if after.Status == memory.Active {
		more++
	}
	if before.Status == memory.Active {
		more--
	}
	if more == 0 {
		return nil
	}
	err = w.exec(`UPDATE conversations SET message_count = message_count + ? WHERE owner = ? AND id =
		(SELECT conversation FROM turns WHERE owner = ? AND id = ? AND role IN ('user', 'assistant'))`,
		more, w.owner, w.owner, after.ID)
	return wrap("count the conversation's turns", err)
}

// remember keeps the mark of a turn that leaves recall, and drops that of one that is
// back.
func (w *write) remember(was memory.Status, after *memory.TurnMark) error {
	switch {
	case after.Status == memory.Retired:
		var role memory.Role
		var words string
		err := w.row(`SELECT role, content FROM turns WHERE owner = ? AND id = ?`, []any{w.owner, after.ID}, &role, &words)
		if err != nil {
			return fmt.Errorf("read what leaves recall: %w", err)
		}
		return w.bury(w.owner, after.ID, role, words)
	case was == memory.Retired:
		return w.unbury(w.owner, after.ID)
	}
	return nil
}

// memoryID is the id of the memory that the image shows, "" if it shows none.
func memoryID(i memory.Image) string {
	switch {
	case i.Fact != nil:
		return i.Fact.ID
	case i.Link != nil:
		return i.Link.Fact.ID
	case i.Summary != nil:
		return i.Summary.ID
	case i.Turn != nil:
		return i.Turn.ID
	}
	return ""
}
