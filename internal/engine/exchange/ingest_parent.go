package exchange

import (
	"context"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/lessons"
	"github.com/loci-memory/loci/internal/thread"
	"github.com/loci-memory/loci/internal/wire"
	"github.com/loci-memory/loci/memory"
)

// keepBehind stores a talk behind the message that it names as its parent: what is there
// already is known again, and what followed the parent otherwise leaves the path. It
// reports false, and stores nothing, where no message of the conversation has that name.
// The caller holds the conversation's writer lock.
func (e *Exchanges) keepBehind(ctx context.Context, owner memory.Owner, talk Talk, said speech, kept *Kept) (placed bool, err error) {
	messages := make([]wire.Message, len(said.turns))
	for i, t := range said.turns {
		messages[i] = wire.Message{Role: t.Role, Name: t.Name, Text: talk.Messages[i].Content, Digest: said.digests[i]}
	}
	request := thread.NewRequest(messages, 0)
	err = core.Replan(ctx, func() error {
		turns, err := e.branches(ctx, owner, kept.Conversation)
		if err != nil {
			return err
		}
		if *talk.Parent == "" {
			placed = true
			return e.keepAt(ctx, owner, talk, said, thread.Follow(turns, request, thread.First, 0), kept)
		}
		after := turnNamed(turns, *talk.Parent)
		if after == "" {
			return nil
		}
		placed = true
		return e.keepAt(ctx, owner, talk, said, thread.Follow(turns, request, after, 0), kept)
	})
	if err != nil {
		return false, fmt.Errorf("keep messages: %w", err)
	}
	return placed, nil
}

// turnNamed returns the id of the turn to which the client gave that name, "" without one;
// of several the one on the current path.
func turnNamed(turns []memory.Turn, name string) string {
	id := ""
	for _, t := range turns {
		if t.Ref == name && (id == "" || t.Status == memory.Active) {
			id = t.ID
		}
	}
	return id
}

// keepAt stores what is new of a talk where it was laid, with the job that learns from it
// and lets facts follow the turns that moved.
func (e *Exchanges) keepAt(ctx context.Context, owner memory.Owner, talk Talk, said speech, at thread.Alignment, kept *Kept) error {
	batch := memory.Batch{Run: core.NewID(), Marks: marks(at.Leave, at.Rejoin), Path: at.Path()}
	moved := slices.Concat(at.Leave, at.Rejoin)
	ids, parent := slices.Clone(at.Turns), at.Parent
	for _, p := range at.New {
		t := said.turns[p.Message]
		t.ID = core.DerivedID(owner, kept.Conversation, parent, p.Chain) // the same said twice at once is kept once
		t.Index, t.Parent, t.Chain = p.Index, parent, p.Chain
		batch.Turns, batch.Path.Turns = append(batch.Turns, t), append(batch.Path.Turns, t.ID)
		ids[p.Message], parent = t.ID, t.ID
	}
	kept.Turns = slices.DeleteFunc(ids, func(id string) bool { return id == "" })
	if len(batch.Turns) == 0 && len(batch.Marks) == 0 {
		return nil
	}
	now := e.Time()
	batch.Conversation = memory.Conversation{ID: kept.Conversation, Owner: owner, Project: talk.Project, CreatedAt: now, UpdatedAt: now}
	back, err := e.comesBack(ctx, owner, kept.Conversation)
	if err != nil {
		return err
	}
	batch.Marks = append(batch.Marks, back...)
	if batch.Vectors, err = e.TurnVectors(ctx, batch.Turns); err != nil {
		return err
	}
	if talk.Infer {
		job := lessons.LearnJob(owner, kept.Conversation, kept.Turns[len(kept.Turns)-1], now, moved...)
		job.ID += "-" + batch.Run // each time that turns move
		batch.Jobs, kept.Job = []memory.Job{job}, job.ID
	}
	_, err = e.Store.Append(ctx, owner, batch)
	return err
}
