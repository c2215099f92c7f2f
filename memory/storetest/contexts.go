package storetest

import (
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// contextRules are of contexts, and of what of a conversation can change.
var contextRules = []rule{
	{"ContextsByIDAndTime", contextsByIDAndTime},
	{"ContextsAreNoMemories", contextsAreNoMemories},
	{"ConversationsChangeByMarks", conversationsChangeByMarks},
	{"DeletedConversationsAreNotListed", deletedConversationsAreNotListed},
	{"MarkedConversationsKeepTheirTitle", markedConversationsKeepTheirTitle},
	{"BatchesMarkTheirConversation", batchesMarkTheirConversation},
	{"EraseContextsAndConversations", eraseContextsAndConversations},
}

func (r *rig) contexts(owner memory.Owner, at memory.At, ids ...string) []memory.Context {
	r.Helper()
	contexts, err := r.Contexts(r.Context(), owner, at, ids...)
	r.must("contexts", err)
	return contexts
}

// titles checks which contexts there are.
func (r *rig) titles(what string, contexts []memory.Context, want ...string) {
	r.Helper()
	var got []string
	for _, c := range contexts {
		got = append(got, c.Title+"="+c.Content)
	}
	r.same(what, got, want)
}

func contextsByIDAndTime(r *rig) {
	style, team := memtest.Context(ana, "style", "Short sentences."), memtest.Context(ana, "team", "Ada leads.")
	style.ID, team.ID = "b", "a"
	style.CreatedAt = style.CreatedAt.Add(1500 * time.Nanosecond)
	first := r.apply(ana, memtest.Change(memory.ActionAdd, style), memtest.Change(memory.ActionAdd, team))
	got := r.contexts(ana, memory.At{})
	r.titles("all, in order of id", got, "team=Ada leads.", "style=Short sentences.")
	want := style
	want.CreatedAt, want.Version = memory.Time(style.CreatedAt), first.Version
	r.same("one", got[1], want)
	r.titles("some", r.contexts(ana, memory.At{}, "b", "b", "none"), "style=Short sentences.")
	r.titles("none of these", r.contexts(ana, memory.At{}, "none"))
	r.titles("another owner's", r.contexts(ben, memory.At{}))
	r.refuse("adding what is there", memory.Conflict, ana, memtest.Change(memory.ActionAdd, style))

	longer := style
	longer.Content, longer.UpdatedAt = "Short words.", memtest.Epoch.Add(time.Hour)
	edit := memtest.Change(memory.ActionUpdate, longer)
	edit.Base = first.Version
	second := r.apply(ana, edit)
	r.refuse("editing what was edited since", memory.Conflict, ana, edit)
	gone := team
	gone.Status = memory.Retired
	retire := memtest.Change(memory.ActionRetire, gone)
	third := r.apply(ana, retire)
	r.titles("now", r.contexts(ana, memory.At{}), "style=Short words.")
	r.titles("as of the edit", r.contexts(ana, memory.At{AsOf: second.At}), "team=Ada leads.", "style=Short words.")
	r.titles("as of the start", r.contexts(ana, memory.At{AsOf: first.At}, "b"), "style=Short sentences.")
	r.titles("before all", r.contexts(ana, memory.At{AsOf: before(first.At)}))
	r.same("history", len(r.changes(ana, memory.ChangeQuery{Target: "context:b"})), 2)

	r.apply(ana, undo(r.changes(ana, memory.ChangeQuery{Target: "context:a", Limit: 1}))...)
	r.titles("after undo", r.contexts(ana, memory.At{}), "team=Ada leads.", "style=Short words.")
	r.titles("as of what was undone", r.contexts(ana, memory.At{AsOf: third.At}), "style=Short words.")
}

func contextsAreNoMemories(r *rig) {
	r.append(ana, memtest.Batch(ana, "c", 0, "hello", "hi"))
	was, version := r.since(ana, 0)
	c := memtest.Context(ana, "style", "Short sentences.")
	mark := r.conversation("c").Mark()
	mark.Contexts = []string{c.ID}
	r.apply(ana, memtest.Change(memory.ActionAdd, c), memtest.Change(memory.ActionUpdate, mark))
	if now := r.version(ana); now != version+1 {
		r.Errorf("version %d after %d; want one more", now, version)
	}
	items, _ := r.since(ana, 0)
	r.same("what an index is told", itemIDs(items), itemIDs(was))
	if items, _ := r.since(ana, version); len(items) != 0 {
		r.Errorf("an index is told of %q, want nothing", itemIDs(items))
	}
	got, err := r.Get(r.Context(), ana, c.ID, "c")
	if err != nil || len(got) != 0 {
		r.Errorf("get: %d memories, %v; want none", len(got), err)
	}
	r.lists("listed", ana, memory.Query{Kinds: []memory.Kind{memory.KindFact, memory.KindSummary}})
	n := r.counts(ana)
	if n.Contexts != 1 || n.Facts != 0 || n.Conversations != 1 {
		r.Errorf("counted %+v, want one context and one conversation", n)
	}
}

func conversationsChangeByMarks(r *rig) {
	r.append(ana, memtest.Batch(ana, "a:b", 0, "hello", "hi"))
	was := r.conversation("a:b")
	if was.Status != memory.Active || was.Version != 0 {
		r.Fatalf("a new conversation is %+v, want it active at no version", was)
	}
	mark := was.Mark()
	mark.Title, mark.Contexts, mark.Rules = "Greetings", []string{"x", "y"}, "Be brief."
	receipt := r.apply(ana, memtest.Change(memory.ActionUpdate, mark))
	want := was
	want.Title, want.Contexts, want.Rules, want.Version = "Greetings", []string{"x", "y"}, "Be brief.", receipt.Version
	r.same("changed", r.conversation("a:b"), want)

	stale := memtest.Change(memory.ActionUpdate, mark)
	stale.Base = receipt.Version - 1
	r.refuse("planned on another version", memory.Conflict, ana, stale)
	r.refuse("one that is not there", memory.Conflict, ana, memtest.Change(memory.ActionUpdate, memory.ConversationMark{ID: "none", Status: memory.Active}))
	r.refuse("one that is another's", memory.Conflict, ben, memtest.Change(memory.ActionUpdate, mark))
	r.refuse("an add", memory.Invalid, ana, memtest.Change(memory.ActionAdd, memory.ConversationMark{ID: "new", Status: memory.Active}))
	r.refuse("a status of facts", memory.Invalid, ana, memtest.Change(memory.ActionUpdate, memory.ConversationMark{ID: "a:b", Status: memory.Pending}))

	history := r.changes(ana, memory.ChangeQuery{Target: "conversation:a:b"})
	before := was.Mark()
	r.same("journalled", []memory.Image{history[0].Before, history[0].After}, []memory.Image{{Conversation: &before}, {Conversation: &mark}})
	undone := r.apply(ana, undo(history)...)
	want = was
	want.Version = undone.Version
	r.same("undone", r.conversation("a:b"), want)
	r.same("its turns", len(r.turns(ana, memory.TurnQuery{Conversation: "a:b"})), 2)
}

func deletedConversationsAreNotListed(r *rig) {
	r.append(ana, memtest.Batch(ana, "c", 0, "hello", "hi"))
	r.append(ana, memtest.Batch(ana, "d", 0, "hello", "hi"))
	mark := r.conversation("c").Mark()
	mark.Status = memory.Retired
	r.apply(ana, memtest.Change(memory.ActionRetire, mark), memtest.TurnMark(memory.ActionRetire, memtest.Batch(ana, "c", 0, "hello").Turns[0].ID, memory.Retired))
	listed := func(q memory.ConversationQuery) (ids []string) {
		page, err := r.Conversations(r.Context(), ana, q)
		r.must("conversations", err)
		for _, c := range page.Conversations {
			ids = append(ids, c.ID)
		}
		return ids
	}
	r.same("listed", listed(memory.ConversationQuery{}), []string{"d"})
	r.same("by status", listed(memory.ConversationQuery{Statuses: []memory.Status{memory.Retired}}), []string{"c"})
	r.same("by id", listed(memory.ConversationQuery{IDs: []string{"c", "d"}}), []string{"d", "c"})
	r.same("by id and status", listed(memory.ConversationQuery{IDs: []string{"c", "d"}, Statuses: []memory.Status{memory.Active}}), []string{"d"})
	r.same("counted", r.counts(ana).Conversations, 1)
	if c := r.conversation("c"); c.Status != memory.Retired || c.MessageCount != 1 {
		r.Errorf("deleted: %+v; want it retired with the one message that is not", c)
	}
	r.append(ana, memtest.Batch(ana, "c", 2, "again"))
	if c := r.conversation("c"); c.Status != memory.Retired || c.MessageCount != 2 {
		r.Errorf("appended to: %+v; want it retired with two messages", c)
	}
}

func markedConversationsKeepTheirTitle(r *rig) {
	r.append(ana, memory.Batch{Conversation: memtest.Conversation(ana, "c")})
	mark := r.conversation("c").Mark()
	mark.Rules = "Be brief."
	r.apply(ana, memtest.Change(memory.ActionUpdate, mark))
	titled := memtest.Batch(ana, "c", 0, "hello")
	titled.Conversation.Title = "hello"
	r.append(ana, titled)
	if got := r.conversation("c").Title; got != "" {
		r.Errorf("the title is %q after an append, want it left to whoever changes conversations", got)
	}
	r.same("its history", r.changes(ana, memory.ChangeQuery{})[0].After.Conversation.Title, "")
}

func batchesMarkTheirConversation(r *rig) {
	r.append(ana, memtest.Batch(ana, "c", 0, "hello"))
	mark := r.conversation("c").Mark()
	mark.Status = memory.Retired
	r.apply(ana, memtest.Change(memory.ActionRetire, mark))
	mark.Status = memory.Active
	b := memtest.Batch(ana, "c", 1, "hi")
	b.Run, b.Marks = "again", []memory.Change{memtest.Change(memory.ActionRestore, mark)}
	receipt := r.append(ana, b)
	if c := r.conversation("c"); c.Status != memory.Active || c.Version != receipt.Version || receipt.Changes != 1 {
		r.Errorf("got %+v by %+v; want it active again by one change", c, receipt)
	}
	other := memtest.Batch(ana, "d", 0, "hi")
	other.Run, other.Marks = "other", b.Marks
	_, err := r.Append(r.Context(), ana, other)
	r.wantCode("a mark of another conversation", err, memory.Invalid)
}

func eraseContextsAndConversations(r *rig) {
	c, other := memtest.Context(ana, "marzipan", "We make marzipan."), memtest.Context(ana, "team", "Ada leads.")
	b := memtest.Batch(ana, "c", 0, "I like  marzipan", "hi")
	b.Conversation.Title = "I like marzipan"
	r.append(ana, b)
	hello := memtest.Batch(ana, "d", 0, "hello")
	hello.Conversation.Project, hello.Conversation.Agent = "marzipan bakery", "marzipan cook"
	r.append(ana, hello)
	mark, rules := r.conversation("c").Mark(), r.conversation("d").Mark()
	mark.Title = "Sweets"
	rules.Title, rules.Rules = "Marzipan", "Speak of marzipan."
	reworded := c
	reworded.Content = "We made marzipan."
	r.apply(ana, memtest.Change(memory.ActionAdd, c), memtest.Change(memory.ActionAdd, other), memtest.Change(memory.ActionUpdate, mark), memtest.Change(memory.ActionUpdate, rules))
	r.apply(ana, memtest.Change(memory.ActionUpdate, reworded))
	receipt := r.erase(ana, memory.Run{ID: "erase", Kind: "erase"}, c.ID, "d", b.Turns[0].ID)
	if receipt.Changes != 3 {
		r.Errorf("receipt %+v, want three changes", receipt)
	}
	for _, change := range r.changes(ana, memory.ChangeQuery{}) {
		r.lacksWord("change "+change.ID, change)
	}
	r.titles("what is left", r.contexts(ana, memory.At{}), "team=Ada leads.")
	for _, id := range []string{"c", "d"} {
		r.lacksWord("conversation "+id, r.conversation(id))
	}
	if kept := r.conversation("c"); kept.Title != "Sweets" || kept.Status != memory.Active {
		r.Errorf("the conversation of an erased turn is %+v, want it with the title it was given", kept)
	}
	if gone := r.conversation("d"); gone.Status != memory.Retired {
		r.Errorf("an erased conversation is %+v, want it retired", gone)
	}
	if said := r.turns(ana, memory.TurnQuery{Conversation: "d"})[0].Content; !strings.Contains(said, "hello") {
		r.Errorf("its turn says %q, want it left to be erased by itself", said)
	}
	if again := r.erase(ana, memory.Run{ID: "again", Kind: "erase"}, c.ID, "d"); again.Changes != 0 {
		r.Errorf("erased again: %+v, want nothing", again)
	}
}
