package vault

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// loader reads the content of an owner's files.
type loader struct {
	f          *files
	owner      memory.Owner
	things     map[string]thing        // file contents by target
	called     map[string]string       // file names by id of a memory
	factOwners map[string]memory.Owner // owners of facts that other owners share, by the fact's id

	shares    map[string][]memory.Owner // recipients of each shared fact, by its id; nil until read
	conflicts map[string]string         // targets of conflict files by path; nil until read
}

func (f *files) loader(owner memory.Owner) *loader {
	return &loader{f: f, owner: owner, things: map[string]thing{}, called: map[string]string{}, factOwners: map[string]memory.Owner{}}
}

func (l *loader) set(t thing) { l.things[t.target()] = t }

// load reads the contents of the keys. It returns the keys in the order in which their files must
// be written, with the keys of other files that must change too.
func (l *loader) load(ctx context.Context, items []key) ([]key, error) {
	if err := l.get(ctx, items); err != nil {
		return nil, err
	}
	items, err := l.summaries(ctx, items)
	if err != nil {
		return nil, err
	}
	return items, l.name(ctx)
}

func (l *loader) get(ctx context.Context, items []key) error {
	var ids, conversations []string
	for _, i := range items {
		kind, id, _ := strings.Cut(i.target, ":")
		switch kind + ":" {
		case factTarget, turnTarget, summaryTarget:
			ids = append(ids, id)
		case conversationTarget:
			conversations = append(conversations, id)
		case profileTarget, contextTarget:
			if _, ok := sharedFact(i.target); ok { // a share entry is stored in the fact's file
				continue
			}
			page, err := l.f.s.Changes(ctx, l.owner, memory.ChangeQuery{Target: i.target, Limit: 1})
			if err != nil {
				return err
			}
			for _, c := range page.Changes {
				l.set(thing{FileContent: memory.FileContent{Profile: c.After.Profile, Context: c.After.Context}})
			}
		}
	}
	if err := l.memories(ctx, ids); err != nil {
		return err
	}
	for some := range slices.Chunk(conversations, maxRun) {
		page, err := l.f.s.Conversations(ctx, l.owner, memory.ConversationQuery{IDs: some, Limit: maxRun})
		if err != nil {
			return err
		}
		for _, c := range page.Conversations {
			l.set(thing{FileContent: memory.FileContent{Conversation: &c}})
		}
	}
	return nil
}

func (l *loader) memories(ctx context.Context, ids []string) error {
	for some := range slices.Chunk(ids, maxRun) {
		found, err := l.f.s.Get(ctx, l.owner, some...)
		if err != nil {
			return err
		}
		for _, m := range found {
			if err := l.memory(ctx, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// addMemory adds a memory with the other content of its file.
func (l *loader) memory(ctx context.Context, m memory.Memory) (err error) {
	if m.Link != nil { // the file of the linked fact is in its owner's folder
		l.factOwners[m.ID()] = m.Fact.Scope.Owner
		return nil
	}
	t := thing{FileContent: memory.FileContent{Fact: m.Fact, Turn: m.Turn, Summary: m.Summary}}
	if m.Fact != nil {
		if t.Relations, err = l.relate(ctx, m.ID()); err != nil {
			return err
		}
		if t.Shared, err = l.sharing(ctx, m.Fact); err != nil {
			return err
		}
	}
	l.set(t)
	return nil
}

// addSummaries adds the previous and the current summary of each conversation to the keys, since
// their files change names. The previous summaries are first, to free the name summary.md.
func (l *loader) summaries(ctx context.Context, items []key) ([]key, error) {
	var rest, leaving, coming []key
	family, current := map[string]bool{}, map[string]bool{} // sets of targets
	asked := map[string]bool{}                              // set of conversations
	for _, i := range items {
		m := l.things[i.target].Summary
		if m == nil {
			rest = append(rest, i)
			continue
		}
		family[i.target] = true
		conversation := m.Scope.Conversation
		if asked[conversation] {
			continue
		}
		asked[conversation] = true
		if r := l.f.index.paths[path.Join(l.f.s.folderOf(l.owner, conversation, false, "summaries"), summaryName+".md")]; r != nil {
			family[r.Target] = true
		}
		q := memory.Query{Kinds: []memory.Kind{memory.KindSummary}, Conversation: conversation, Limit: 50}
		for m, err := range memory.AllMemories(ctx, l.f.s.List, l.owner, q) {
			if err != nil {
				return nil, err
			}
			if m.Summary.Scope.Conversation == conversation {
				family[summaryTarget+m.ID()], current[summaryTarget+m.ID()] = true, true
				break
			}
		}
	}
	var missing []string
	for target := range family {
		if _, ok := l.things[target]; !ok {
			missing = append(missing, strings.TrimPrefix(target, summaryTarget))
		}
	}
	if err := l.memories(ctx, missing); err != nil {
		return nil, err
	}
	for _, target := range slices.Sorted(maps.Keys(family)) {
		t := l.things[target]
		if t.current = current[target] && t.Summary != nil; t.current {
			l.set(t)
			coming = append(coming, key{l.owner, target})
		} else {
			leaving = append(leaving, key{l.owner, target})
		}
	}
	return slices.Concat(rest, leaving, coming), nil
}

// loadFileNames finds the names of the files to which the contents link.
func (l *loader) name(ctx context.Context) error {
	var missing []string
	refer := func(id string) {
		if _, ok := l.called[id]; !ok && id != "" {
			l.called[id] = ""
			missing = append(missing, id)
		}
	}
	for _, t := range l.things {
		t.fields(func(id string) string {
			refer(id)
			return id
		})
	}
	if len(missing) == 0 {
		return nil
	}
	found, err := l.f.s.Get(ctx, l.owner, missing...)
	if err != nil {
		return err
	}
	for _, m := range found {
		l.called[m.ID()] = fileName(m.CreatedAt(), m.ID())
	}
	return nil
}

// link returns a link to a memory's file, or the memory's id if there is no file.
func (l *loader) link(id string) string {
	if name := l.called[id]; name != "" {
		return linkTo(name, id)
	}
	return id
}
