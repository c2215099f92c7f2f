package thread

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/memory"
)

// world holds an owner's conversations in memory and records like the engine.
type world struct {
	now     time.Time
	convs   []Candidate
	ids     int
	learned []string // user turns in the order they were learned

	// of the current request
	conv    int
	align   Alignment
	parent  string
	stored  []string         // the turns that say it
	offPath bool             // whether its answer is kept beside the path
	again   func() Alignment // the same request laid on what is stored by now
	resume  func() Alignment // and where it was stored
}

func newWorld() *world {
	return &world{now: time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC), conv: -1}
}

// ask aligns a request with the stored turns and records it. name is the conversation's id, if the
// client sends one.
func (w *world) ask(name string, msgs []chatapi.Message) {
	w.now = w.now.Add(time.Second)
	w.conv = -1
	if name == "" {
		w.conv = w.find(msgs)
	} else {
		w.conv = slices.IndexFunc(w.convs, func(c Candidate) bool { return c.Conversation.ID == name })
	}
	if w.conv < 0 {
		if name == "" {
			name = fmt.Sprint(len(w.convs) + 1)
		}
		w.convs = append(w.convs, Candidate{Conversation: memory.Conversation{ID: name}})
		w.conv = len(w.convs) - 1
	}
	c := &w.convs[w.conv]
	w.align = Align(c.Turns, NewRequest(msgs, 0))
	conv := w.conv
	w.again = func() Alignment { return Align(w.convs[conv].Turns, NewRequest(msgs, 0)) }
	if NewRequest(msgs, 0).OnlyMessageIndex() >= 0 { // its words are new each time
		w.again = func() Alignment { return w.resume() }
	}
	w.stored = slices.Clone(w.align.TurnIDs)
	w.resume = func() Alignment { return AlignStored(w.convs[conv].Turns, NewRequest(msgs, 0), w.stored) }
	path := w.align.Path()
	w.mark(w.align.LeavingIDs, memory.Replaced)
	w.mark(w.align.RejoiningIDs, memory.Active)
	w.parent = w.align.ParentID
	for _, p := range w.align.NewTurns {
		m := msgs[p.MessageIndex]
		w.stored[p.MessageIndex] = w.add(m.Role, m.Text, p.TurnIndex, p.Chain, p.IsHistory)
		path.Turns = append(path.Turns, w.stored[p.MessageIndex])
		if m.Role == memory.RoleUser && !p.IsHistory {
			w.learned = append(w.learned, m.Text)
		}
	}
	if len(w.align.NewTurns)+len(w.align.RejoiningIDs) > 0 {
		w.mustHold(path)
	}
	c.Conversation.UpdatedAt = w.now
}

// mustHold panics unless the conversation's path is the writer's.
func (w *world) mustHold(p *memory.Path) {
	holds := p.Checker()
	for _, t := range w.convs[w.conv].Turns {
		if !holds(t.ID, t.Index, t.Status) {
			panic(fmt.Sprintf("turn %s %q at %d is %s, with path %+v", t.ID, t.Content, t.Index, t.Status, *p))
		}
	}
}

// find selects a conversation for a request without an id, as the engine does. A look-up by the
// last answer alone must give the same as by all chains.
func (w *world) find(msgs []chatapi.Message) int {
	among := w.among(msgs, NewRequest(msgs, 0).Chains())
	if telling := NewRequest(msgs, 0).AnswerChains(); len(telling) > 0 {
		if i := w.among(msgs, telling); i >= 0 && i != among {
			panic(fmt.Sprintf("by its last answer the request belongs to conversation %d, by all of it to %d", i, among))
		}
	}
	return among
}

// among chooses among the conversations with one of these chains.
func (w *world) among(msgs []chatapi.Message, chains []string) int {
	var ends []memory.Turn
	for _, c := range w.convs {
		for _, t := range c.Turns {
			if slices.Contains(chains, t.Chain) {
				ends = append(ends, t)
			}
		}
	}
	var cands []Candidate
	for _, id := range ShortlistConversations(ends, 8) {
		i := slices.IndexFunc(w.convs, func(c Candidate) bool { return c.Conversation.ID == id })
		cands = append(cands, w.convs[i])
	}
	chosen := ChooseConversation(cands, NewRequest(msgs, 0), w.now)
	if chosen < 0 {
		return -1
	}
	return slices.IndexFunc(w.convs, func(c Candidate) bool {
		return c.Conversation.ID == cands[chosen].Conversation.ID
	})
}

// answer records the reply to the last request.
func (w *world) answer(m chatapi.Message) AnswerPosition {
	w.now = w.now.Add(time.Second)
	r := w.align.AlignAnswer(m.Digest)
	if now := w.again().AlignAnswer(m.Digest); !reflect.DeepEqual(r, now) {
		panic(fmt.Sprintf("aligned again after recording, the answer's place is %+v, want %+v", now, r))
	}
	at := w.resume()
	if now := at.AlignAnswer(m.Digest); !reflect.DeepEqual(r, now) {
		panic(fmt.Sprintf("resumed after recording, the answer's place is %+v, want %+v", now, r))
	}
	if w.offPath = at.UserContinued(); w.offPath {
		if r.StoredID == "" {
			w.mark([]string{w.add(m.Role, m.Text, r.TurnIndex, r.Chain, false)}, memory.Replaced)
		}
		return AnswerPosition{StoredID: r.StoredID}
	}
	path := at.Path(r.StoredID)
	w.mark(r.LeavingIDs, memory.Replaced)
	w.mark(r.RejoiningIDs, memory.Active)
	if r.StoredID == "" {
		path.Turns = append(path.Turns, w.add(m.Role, m.Text, r.TurnIndex, r.Chain, false))
	}
	if r.StoredID == "" || len(r.LeavingIDs)+len(r.RejoiningIDs) > 0 { // or else nothing changes
		w.mustHold(path)
	}
	w.convs[w.conv].Conversation.UpdatedAt = w.now
	return r
}

func (w *world) add(role memory.Role, text string, index int, chain string, history bool) (id string) {
	w.ids++
	id = fmt.Sprintf("t%03d", w.ids)
	c := &w.convs[w.conv]
	c.Turns = append(c.Turns, memory.Turn{
		ID: id, Conversation: c.Conversation.ID, Index: index, Parent: w.parent, Chain: chain,
		Role: role, Content: text, Status: memory.Active, RecordedAt: w.now, NoLearn: history,
	})
	w.parent = id
	return id
}

func (w *world) mark(ids []string, s memory.Status) {
	for _, id := range ids {
		for i := range w.convs[w.conv].Turns {
			if t := &w.convs[w.conv].Turns[i]; t.ID == id {
				t.Status = s
			}
		}
	}
}

// path is a conversation's active turns in order.
func (c Candidate) path() []memory.Turn {
	var out []memory.Turn
	for _, t := range c.Turns {
		if t.Status == memory.Active {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b memory.Turn) int { return a.Index - b.Index })
	return out
}

// checkPaths returns an error text, "" if the active turns of each root are one path of its
// conversation's tree.
func (w *world) checkPaths() string {
	for _, c := range w.convs {
		last := map[string]memory.Turn{} // of each path, by id
		for _, t := range c.path() {
			parent, ok := last[t.Parent]
			switch {
			case t.Parent == "":
			case !ok:
				return fmt.Sprintf("conversation %s: turn %s %q follows %q, which is not an end of a path", c.Conversation.ID, t.ID, t.Content, t.Parent)
			case t.Index <= parent.Index:
				return fmt.Sprintf("conversation %s: turn %s %q is at %d, its parent at %d", c.Conversation.ID, t.ID, t.Content, t.Index, parent.Index)
			case t.Chain == parent.Chain:
				return fmt.Sprintf("conversation %s: turn %s has its parent's chain", c.Conversation.ID, t.ID)
			}
			delete(last, t.Parent)
			last[t.ID] = t
		}
	}
	return ""
}

var letters = map[string]memory.Role{
	"U": memory.RoleUser, "A": memory.RoleAssistant, "C": memory.RoleAssistant,
	"T": memory.RoleTool, "S": memory.RoleSystem,
}

// message reads "U words", "A words", "S words", "C tool arguments" (a call) or
// "T id words" (its result).
func message(s string) chatapi.Message {
	letter, text, _ := strings.Cut(strings.TrimSpace(s), " ")
	role, ok := letters[letter]
	if !ok {
		panic("no message: " + s)
	}
	m := chatapi.Message{Role: role, Text: text}
	calls, callID := "", ""
	switch letter {
	case "C":
		name, arguments, _ := strings.Cut(text, " ")
		quoted, _ := json.Marshal(arguments)
		calls = fmt.Sprintf(`[{"id":"x","type":"function","function":{"name":%q,"arguments":%s}}]`, name, quoted)
		m.Text, m.ToolCalls = "", true
	case "T":
		callID, m.Text, _ = strings.Cut(text, " ")
	}
	m.Digest = chatapi.Digest(role, m.Text, calls, callID)
	return m
}

func messages(s string) []chatapi.Message {
	var out []chatapi.Message
	for _, part := range strings.Split(s, " | ") {
		out = append(out, message(part))
	}
	return out
}

// regenerates reports whether the last user message is stored and has an answer.
func (a Alignment) regenerates() bool {
	return a.IsRetry && len(a.NewTurns) == 0 && a.tree.anyHasRole(a.tree.children[a.parentIndex+1], memory.RoleAssistant)
}

// branches reports whether the request leaves the current path.
func (a Alignment) branches() bool { return len(a.LeavingIDs)+len(a.RejoiningIDs) > 0 }
