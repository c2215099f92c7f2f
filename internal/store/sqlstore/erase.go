package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/shelf"
	"github.com/loci-memory/loci/memory"
)

// Erase removes words for good: see [memory.Eraser]. The rows lose them in one transaction.
// A mark in the file says until then that it is to be written again, since free pages and the
// log still have them: once nothing is written for a moment, or at the next start.
func (s *Store) Erase(ctx context.Context, owner memory.Owner, run memory.Run, ids ...string) (memory.Receipt, error) {
	if err := run.Check(owner); err != nil {
		return memory.Receipt{}, err
	}
	done, err := s.commits.erasing(ctx)
	if err != nil {
		return memory.Receipt{}, err
	}
	defer done()
	return s.writeRun(ctx, owner, func(t *tx) (memory.Receipt, error) { return t.erase(owner, run, ids) })
}

// erase erases what ids name.
func (t *tx) erase(owner memory.Owner, run memory.Run, ids []string) (memory.Receipt, error) {
	if first, found, err := t.receipt(owner, run.ID); found || err != nil {
		return first, err
	}
	e := &eraser{}
	things, err := e.find(&write{tx: t, owner: owner}, ids)
	if err != nil {
		return memory.Receipt{}, err
	}
	if e.write, err = t.begin(owner, len(things) > 0); err != nil {
		return memory.Receipt{}, err
	}
	for i, before := range things {
		if err := e.thing(run, i+1, before); err != nil {
			return memory.Receipt{}, fmt.Errorf("erase %s: %w", before.Target(), err)
		}
	}
	receipt, err := e.finish(run, len(things))
	if err != nil || len(things) == 0 {
		return receipt, err
	}
	return receipt, e.rest()
}

// eraser is a write that erases.
type eraser struct{ *write }

// find returns what there is of ids and has words or is not retired, each once.
func (e *eraser) find(w *write, ids []string) ([]memory.Image, error) {
	var targets []string
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			continue
		}
		for _, kind := range []string{"fact:", "link:", "turn:", "summary:", "context:", "conversation:", "profile:"} {
			targets = append(targets, kind+id)
		}
	}
	images, err := standingOf(w.owner, targets, w.query)
	var out []memory.Image
	for _, target := range targets {
		image := images[target]
		if err != nil || image.IsZero() {
			continue
		}
		var said string
		if said, err = w.words(image); said != "" || image.Status() != memory.Retired {
			out = append(out, image)
		}
	}
	return out, err
}

// words returns what a thing says.
func (w *write) words(i memory.Image) (string, error) {
	var more string
	var err error
	switch {
	case i.Conversation != nil:
		err = wrap("read what the conversation is of", w.row(`SELECT project || agent FROM conversations WHERE owner = ? AND id = ?`, []any{w.owner, i.Conversation.ID}, &more))
	case i.Turn != nil:
		err = wrap("read what the turn says", w.row(`SELECT content FROM turns WHERE owner = ? AND id = ?`, []any{w.owner, i.Turn.ID}, &more))
	}
	return shelf.Words(i) + more, err
}

// thing takes the words of one thing away, here and in the journal, and journals that.
func (e *eraser) thing(run memory.Run, ordinal int, before memory.Image) error {
	after := shelf.Stamp(shelf.Blank(before, run.ID, e.at), e.version)
	switch {
	case after.Conversation != nil:
		if err := e.exec(`UPDATE conversations SET project = '', agent = '' WHERE owner = ? AND id = ?`, e.owner, after.Conversation.ID); err != nil {
			return fmt.Errorf("erase what the conversation is of: %w", err)
		}
	case after.Turn != nil:
		if err := e.turn(after.Turn.ID); err != nil {
			return err
		}
	}
	_, id, _ := strings.Cut(before.Target(), ":")
	if err := e.save(memory.Change{Before: before, After: after}); err != nil {
		return err
	}
	if after.Profile != nil && after.Target() != before.Target() {
		if err := e.exec(`DELETE FROM profile WHERE owner = ? AND key = ?`, e.owner, before.Profile.Key); err != nil {
			return fmt.Errorf("erase the entry's key: %w", err)
		}
	}
	if err := e.exec(`DELETE FROM vectors WHERE owner = ? AND memory = ?`, e.owner, id); err != nil {
		return fmt.Errorf("erase vectors: %w", err)
	}
	if err := e.past(run.ID, before.Target(), after.Target(), id); err != nil {
		return err
	}
	return e.journal(run.ID, run.Author, ordinal, memory.Change{Action: memory.ActionErase, Before: before.Erased(run.ID), After: after, Author: run.Author})
}

// turn takes a turn's words away, and the titles of its conversation that stand in
// them.
func (e *eraser) turn(id string) error {
	var conversation, said, title string
	var role memory.Role
	err := e.row(`SELECT t.conversation, t.role, t.content, c.title FROM turns t
		JOIN conversations c ON c.owner = t.owner AND c.id = t.conversation WHERE t.owner = ? AND t.id = ?`,
		[]any{e.owner, id}, &conversation, &role, &said, &title)
	if err != nil {
		return fmt.Errorf("read the turn's conversation: %w", err)
	}
	if err := e.bury(e.owner, id, role, said); err != nil {
		return err
	}
	if err := e.untitle(conversation, title, said); err != nil {
		return err
	}
	err = e.exec(`UPDATE turns SET content = '', project = '', agent = '', given = '', foreign_ranges = '', no_learn = true WHERE owner = ? AND id = ?`, e.owner, id)
	return wrap("erase the turn", err)
}

// untitle takes away the titles that a conversation has or had, if they stand in what
// was said.
func (e *eraser) untitle(conversation, title, said string) error {
	said = strings.Join(strings.Fields(said), " ")
	if strings.Contains(said, title) {
		if err := e.exec(`UPDATE conversations SET title = '' WHERE owner = ? AND id = ?`, e.owner, conversation); err != nil {
			return fmt.Errorf("erase the title: %w", err)
		}
	}
	target := memory.Image{Conversation: &memory.ConversationMark{ID: conversation}}.Target()
	return e.rewrite(target, func(i memory.Image) (memory.Image, bool) {
		if i.Conversation == nil || !strings.Contains(said, i.Conversation.Title) {
			return i, false
		}
		i.Conversation.Title = ""
		return i, true
	})
}

// past takes the words of a thing out of the journal, which then is of target left.
func (e *eraser) past(run, target, left, id string) error {
	if err := e.rewrite(target, func(i memory.Image) (memory.Image, bool) { return i.Erased(run), true }); err != nil {
		return err
	}
	if err := e.exec(`UPDATE journal SET reason = '' WHERE owner = ? AND target = ? AND reason <> ''`, e.owner, target); err != nil {
		return fmt.Errorf("erase reasons: %w", err)
	}
	for _, side := range []string{"old_id", "new_id"} {
		if err := e.exec(`UPDATE journal SET reason = '' WHERE owner = ? AND `+side+` = ? AND `+side+` <> '' AND reason <> ''`, e.owner, id); err != nil {
			return fmt.Errorf("erase reasons: %w", err)
		}
	}
	if left == target {
		return nil
	}
	return wrap("rename in the journal", e.exec(`UPDATE journal SET target = ? WHERE owner = ? AND target = ?`, left, e.owner, target))
}

// rewrite puts other images into the journal of a target where do says so of those that
// its changes found.
func (w *write) rewrite(target string, do func(memory.Image) (memory.Image, bool)) error {
	rows, err := w.query(`SELECT version, ordinal, before FROM journal WHERE owner = ? AND target = ?`, w.owner, target)
	type entry struct {
		version int64
		ordinal int
		before  memory.Image
	}
	entries, err := collect(rows, err, func(row scanner) (n entry, err error) {
		return n, row.Scan(&n.version, &n.ordinal, asImage{&n.before})
	})
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	for _, n := range entries {
		image, other := do(n.before)
		if !other {
			continue
		}
		before, err := encodeImage(image)
		if err != nil {
			return err
		}
		if err := w.exec(`UPDATE journal SET before = ? WHERE owner = ? AND version = ? AND ordinal = ?`, before, w.owner, n.version, n.ordinal); err != nil {
			return fmt.Errorf("erase the journal: %w", err)
		}
	}
	return nil
}

// modelReasons removes the reasons that a model gave: each may quote what is erased.
func (w *write) modelReasons() error {
	const byModel = `{"kind":"model"%` // as authors are written
	return wrap("erase the reasons of models", w.exec(`UPDATE journal SET reason = '' WHERE owner = ?1 AND reason <> '' AND (author LIKE ?2
		OR author = '' AND run IN (SELECT id FROM runs WHERE owner = ?1 AND author LIKE ?2))`, w.owner, byModel))
}

// rest removes what else may have the words, and lets followers begin anew.
func (e *eraser) rest() error {
	if err := e.modelReasons(); err != nil {
		return err
	}
	for _, statement := range []string{
		`DELETE FROM trace_facts WHERE owner = ?`,
		`DELETE FROM traces WHERE owner = ?`,
		`UPDATE jobs SET error = '' WHERE owner = ? AND error <> ''`,
		`UPDATE owners SET horizon = version WHERE owner = ?`,
	} {
		if err := e.exec(statement, e.owner); err != nil {
			return fmt.Errorf("erase the rest: %w", err)
		}
	}
	if e.erases = true; e.session.into != nil { // the server sees to its own files
		return nil
	}
	return e.marksFile()
}
