package vault

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// loader reads the contents of an owner's files from the wrapped store.
type loader struct {
	f                *fileWriter
	owner            memory.Owner
	contents         map[string]fileContent  // file contents by target
	fileNames        map[string]string       // file names by id of a memory
	sharedFactOwners map[string]memory.Owner // owners of facts that are shared with this owner, by the fact's id

	recipients map[string][]memory.Owner // recipients of each shared fact, by its id; nil until read
	conflicts  map[string]string         // targets of conflict files by path; nil until read
}

func (f *fileWriter) newLoader(owner memory.Owner) *loader {
	return &loader{f: f, owner: owner, contents: map[string]fileContent{}, fileNames: map[string]string{}, sharedFactOwners: map[string]memory.Owner{}}
}

func (l *loader) addContent(t fileContent) { l.contents[t.target()] = t }

// load reads the contents of the keys. It returns the keys in the order in which their files must
// be written, and adds the keys of summaries whose files must be renamed.
func (l *loader) load(ctx context.Context, keys []key) ([]key, error) {
	if err := l.fetchContents(ctx, keys); err != nil {
		return nil, err
	}
	keys, err := l.addSummaries(ctx, keys)
	if err != nil {
		return nil, err
	}
	return keys, l.loadFileNames(ctx)
}

func (l *loader) fetchContents(ctx context.Context, keys []key) error {
	var ids, conversations []string
	for _, i := range keys {
		kind, id, _ := strings.Cut(i.target, ":")
		switch kind + ":" {
		case factTarget, turnTarget, summaryTarget:
			ids = append(ids, id)
		case conversationTarget:
			conversations = append(conversations, id)
		case profileTarget, contextTarget:
			if _, ok := factOfShareEntry(i.target); ok { // a share entry is stored in the fact's file
				continue
			}
			page, err := l.f.s.Changes(ctx, l.owner, memory.ChangeQuery{Target: i.target, Limit: 1})
			if err != nil {
				return err
			}
			for _, c := range page.Changes {
				l.addContent(fileContent{FileContent: memory.FileContent{Profile: c.After.Profile, Context: c.After.Context}})
			}
		}
	}
	if err := l.fetchMemories(ctx, ids); err != nil {
		return err
	}
	for some := range slices.Chunk(conversations, maxChunk) {
		page, err := l.f.s.Conversations(ctx, l.owner, memory.ConversationQuery{IDs: some, Limit: maxChunk})
		if err != nil {
			return err
		}
		for _, c := range page.Conversations {
			l.addContent(fileContent{FileContent: memory.FileContent{Conversation: &c}})
		}
	}
	return nil
}

func (l *loader) fetchMemories(ctx context.Context, ids []string) error {
	for chunk := range slices.Chunk(ids, maxChunk) {
		memories, err := l.f.s.Get(ctx, l.owner, chunk...)
		if err != nil {
			return err
		}
		for _, m := range memories {
			if err := l.addMemory(ctx, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// addMemory adds a memory; for a fact, with the relations and recipients that its file lists.
func (l *loader) addMemory(ctx context.Context, m memory.Memory) (err error) {
	if m.Link != nil { // a linked fact's file is in the folder of the sharing owner
		l.sharedFactOwners[m.ID()] = m.Fact.Scope.Owner
		return nil
	}
	t := fileContent{FileContent: memory.FileContent{Fact: m.Fact, Turn: m.Turn, Summary: m.Summary}}
	if m.Fact != nil {
		if t.Relations, err = l.relationsOf(ctx, m.ID()); err != nil {
			return err
		}
		if t.Shared, err = l.recipientsOf(ctx, m.Fact); err != nil {
			return err
		}
	}
	l.addContent(t)
	return nil
}

// addSummaries adds to keys the previous and the current summary of each conversation that has a summary in
// keys: both files must be renamed. Previous summaries come first, to free the name summary.md.
func (l *loader) addSummaries(ctx context.Context, keys []key) ([]key, error) {
	var rest, previous, newest []key
	affected, current := map[string]bool{}, map[string]bool{} // sets of targets
	checked := map[string]bool{}                              // set of conversations
	for _, i := range keys {
		m := l.contents[i.target].Summary
		if m == nil {
			rest = append(rest, i)
			continue
		}
		affected[i.target] = true
		conversation := m.Scope.Conversation
		if checked[conversation] {
			continue
		}
		checked[conversation] = true
		if r := l.f.records.byPath[path.Join(l.f.s.folderOf(l.owner, conversation, false, "summaries"), summaryName+".md")]; r != nil {
			affected[r.Target] = true
		}
		q := memory.Query{Kinds: []memory.Kind{memory.KindSummary}, Conversation: conversation, Limit: 50}
		for m, err := range memory.AllMemories(ctx, l.f.s.List, l.owner, q) {
			if err != nil {
				return nil, err
			}
			if m.Summary.Scope.Conversation == conversation {
				affected[summaryTarget+m.ID()], current[summaryTarget+m.ID()] = true, true
				break
			}
		}
	}
	var missing []string
	for target := range affected {
		if _, ok := l.contents[target]; !ok {
			missing = append(missing, strings.TrimPrefix(target, summaryTarget))
		}
	}
	if err := l.fetchMemories(ctx, missing); err != nil {
		return nil, err
	}
	for _, target := range slices.Sorted(maps.Keys(affected)) {
		t := l.contents[target]
		if t.isCurrent = current[target] && t.Summary != nil; t.isCurrent {
			l.addContent(t)
			newest = append(newest, key{l.owner, target})
		} else {
			previous = append(previous, key{l.owner, target})
		}
	}
	return slices.Concat(rest, previous, newest), nil
}

// loadFileNames finds the names of the files to which the contents link.
func (l *loader) loadFileNames(ctx context.Context) error {
	var missing []string
	collect := func(id string) {
		if _, ok := l.fileNames[id]; !ok && id != "" {
			l.fileNames[id] = ""
			missing = append(missing, id)
		}
	}
	for _, t := range l.contents {
		t.fields(func(id string) string {
			collect(id)
			return id
		})
	}
	if len(missing) == 0 {
		return nil
	}
	memories, err := l.f.s.Get(ctx, l.owner, missing...)
	if err != nil {
		return err
	}
	for _, m := range memories {
		l.fileNames[m.ID()] = fileName(m.CreatedAt(), m.ID())
	}
	return nil
}

// link returns a link to a memory's file, or the memory's id if there is no file.
func (l *loader) link(id string) string {
	if name := l.fileNames[id]; name != "" {
		return linkTo(name, id)
	}
	return id
}
