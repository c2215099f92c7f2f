package thread

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/memory"
)

// chat is a client's side of a conversation: its current and past histories.
type chat struct {
	history []chatapi.Message   // up to the last answer
	past    [][]chatapi.Message // earlier histories, to go back to
}

func user(words string) chatapi.Message      { return message("U " + words) }
func assistant(words string) chatapi.Message { return message("A " + words) }

// begins reports whether a path begins with a history. It may be longer: a repeated answer changes
// nothing.
func begins(turns []memory.Turn, msgs []chatapi.Message) bool {
	return len(turns) >= len(msgs) && slices.EqualFunc(turns[:len(msgs)], msgs, func(t memory.Turn, m chatapi.Message) bool {
		return t.Role == m.Role && t.Content == m.Text
	})
}

func telling(msgs []chatapi.Message) bool {
	return slices.ContainsFunc(msgs, func(m chatapi.Message) bool {
		return m.Role == memory.RoleUser && !isCommonText(m.Text)
	})
}

// TestPathIsTheClientsHistory lets several chats with equal beginnings and no ids write, retry,
// regenerate, edit and go back. After each answer the conversation's path is that chat's history,
// every other chat's history is still a path, and every message is learned once.
func TestPathIsTheClientsHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		chats := make([]chat, rapid.IntRange(1, 3).Draw(t, "chats"))
		step := 0
		behind := map[string]bool{} // what was said behind more than greetings, which tell no chat from another
		words := func() chatapi.Message {
			if rapid.IntRange(0, 2).Draw(t, "slight") == 0 {
				return user(rapid.SampledFrom([]string{"hi", "yes"}).Draw(t, "words"))
			}
			step++
			return user(fmt.Sprintf("I like thing number %d", step))
		}
		reply := func(to chatapi.Message) chatapi.Message {
			if !isCommonText(to.Text) {
				step++
				return assistant(fmt.Sprintf("That is thing number %d for me", step))
			}
			return assistant(rapid.SampledFrom([]string{"Hello!", "ok", "Sure.", "Well, no."}).Draw(t, "reply"))
		}
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			c := &chats[rapid.IntRange(0, len(chats)-1).Draw(t, "chat")]
			request := slices.Clone(c.history)
			switch op := rapid.SampledFrom([]string{"say", "say", "say", "regenerate", "edit", "back"}).Draw(t, "op"); {
			case op == "regenerate" && len(request) > 2:
				request = request[:len(request)-1]
			case op == "edit" && len(request) > 2:
				request = append(request[:rapid.IntRange(1, len(request)/2-1).Draw(t, "at")*2], words())
			case op == "back" && len(c.past) > 0:
				request = append(slices.Clone(rapid.SampledFrom(c.past).Draw(t, "past")), words())
			default:
				request = append(request, words())
			}
			if last := len(request) - 1; telling(request[:last]) && !isCommonText(request[last].Text) {
				behind[request[last].Text] = true
			}
			w.ask("", request)
			if len(request) > 1 && rapid.Bool().Draw(t, "lost") {
				w.ask("", request)
				if a := w.align; len(a.NewTurns) > 0 {
					t.Fatalf("the retry of %s has new messages: %v", show(request), a.NewTurns)
				}
			}
			answer := reply(request[len(request)-1])
			w.answer(answer)
			c.past = append(c.past, c.history)
			c.history = append(request, answer)

			if wrong := w.checkPaths(); wrong != "" {
				t.Fatal(wrong)
			}
			if path := w.convs[w.conv].path(); !w.offPath && !begins(path, c.history) {
				t.Fatalf("after %s\nthe path is     %s\n", show(c.history), saidBy(path))
			}
			for _, other := range chats {
				if telling(other.history) && !slices.ContainsFunc(w.convs, func(k Candidate) bool { return begins(k.path(), other.history) }) {
					t.Fatalf("after %s\nno conversation has %s", show(c.history), show(other.history))
				}
			}
		}
		slices.Sort(w.learned)
		for i, text := range w.learned {
			if i > 0 && behind[text] && text == w.learned[i-1] {
				t.Fatalf("%q was learned twice", text)
			}
		}
	})
}

// TestWindowAppends lets a client that names its conversation send any end of its history: every
// message is stored once, in order, and no turn leaves.
func TestWindowAppends(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		var full []chatapi.Message
		for n := range rapid.IntRange(1, 20).Draw(t, "steps") {
			words := fmt.Sprintf("I like thing number %d", n)
			window := full[len(full)-2*rapid.IntRange(0, len(full)/2).Draw(t, "kept"):]
			if len(window) == 0 && rapid.Bool().Draw(t, "slight") {
				words = "yes"
			}
			full = append(full, user(words))
			request := append(slices.Clone(window), user(words))
			w.ask("c", request)
			if len(request) > 1 && rapid.Bool().Draw(t, "lost") {
				w.ask("c", request)
			}
			answer := assistant(fmt.Sprintf("This is what I say to thing %d.", n))
			w.answer(answer)
			full = append(full, answer)
			if path := w.convs[0].path(); len(path) != len(full) || !begins(path, full) {
				t.Fatalf("sent %s\nthe path is %s\nwant        %s", show(request), saidBy(path), show(full))
			}
			if w.align.branches() {
				t.Fatalf("sent %s: something left the path: %v", show(request), w.align.LeavingIDs)
			}
		}
	})
}

// TestNothingIsTakenBackWithoutProof plays clients that write, edit, regenerate, shorten, summarize
// and cut their history, put canned messages before it and send requests of their own, with and
// without an id. All user messages that were not edited away stay on a path.
func TestNothingIsTakenBackWithoutProof(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		name := rapid.SampledFrom([]string{"", "c"}).Draw(t, "id")
		var canned, history []chatapi.Message
		if rapid.Bool().Draw(t, "canned") {
			canned = messages("U Change this file as an example of how you work | A I changed the file.")
		}
		holds := map[string]bool{} // words that the user said and did not take back
		whole := true              // or an edit would look like one of what was left out
		step, asked := 0, 0
		words := func() chatapi.Message {
			step++
			m := user(fmt.Sprintf("I like thing number %d", step))
			holds[m.Text] = true
			return m
		}
		send := func(request []chatapi.Message) chatapi.Message {
			w.ask(name, append(slices.Clone(canned), request...))
			asked++
			answer := assistant(fmt.Sprintf("Noted as number %d, Sir.", asked))
			w.answer(answer)
			return answer
		}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			switch op := rapid.SampledFrom([]string{"say", "say", "say", "edit", "regenerate", "restart", "sum up", "cut", "drop", "call"}).Draw(t, "op"); {
			case op == "edit" && whole && len(history) > 2:
				at := rapid.IntRange(1, len(history)-1).Draw(t, "at")
				if history[at].Role != memory.RoleUser {
					continue
				}
				for _, m := range history[at:] {
					delete(holds, m.Text)
				}
				history = append(history[:at:at], words())
				history = append(history, send(history))
			case op == "regenerate" && whole && len(history) > 1 && holds[history[len(history)-2].Text]:
				history[len(history)-1] = send(history[:len(history)-1])
			case op == "restart":
				history, whole = nil, true
			case op == "sum up" && len(history) > 2:
				whole = false
				summary := user(fmt.Sprintf("[Summary of what was said before thing %d]", step))
				keep := rapid.IntRange(0, 2).Draw(t, "keep")
				history = append(slices.Clone(history[:keep]), summary)
				if rapid.Bool().Draw(t, "acknowledged") {
					history = append(history, assistant("Understood."))
				}
			case op == "cut" && len(history) > 4:
				whole = false
				from := rapid.IntRange(0, len(history)-2).Draw(t, "from")
				to := rapid.IntRange(from, len(history)-1).Draw(t, "to")
				history = append(slices.Clone(history[:from]), history[to:]...)
			case op == "drop" && len(history) > 0:
				whole = false
				history = history[rapid.IntRange(1, len(history)).Draw(t, "dropped"):]
			case op == "call": // of the client itself, about the chat
				send([]chatapi.Message{user(fmt.Sprintf("Suggest a title for chat %d", step))})
			default:
				request := append(slices.Clone(history), words())
				history = append(request, send(request))
			}
			for text := range holds {
				if !slices.ContainsFunc(w.convs, func(c Candidate) bool {
					return slices.ContainsFunc(c.path(), func(turn memory.Turn) bool { return turn.Content == text })
				}) {
					t.Fatalf("%q left every path; the client's history is %s", text, show(history))
				}
			}
		}
	})
}

// FuzzAlign aligns any request with any tree, even a broken one: it ends without a panic, and its
// new turns are connected.
func FuzzAlign(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6}, []byte{1, 2, 3})
	f.Add([]byte{0, 0, 0, 9, 9, 9, 9}, []byte{9})
	f.Fuzz(func(t *testing.T, stored, asked []byte) {
		var turns []memory.Turn
		roles := []memory.Role{memory.RoleUser, memory.RoleAssistant, memory.RoleTool}
		for i, b := range stored {
			turns = append(turns, memory.Turn{
				ID: fmt.Sprint(i), Parent: fmt.Sprint(int(b>>4) - 1), Index: int(b & 7), Role: roles[b%3],
				Chain: ChainHash("", fmt.Sprint(b&3)), Content: fmt.Sprint(b),
				Status: []memory.Status{memory.Active, memory.Replaced, memory.Retired}[i%3],
			})
			if b>>4 == 0 {
				turns[i].Parent = ""
			}
		}
		var msgs []chatapi.Message
		for _, b := range asked {
			msgs = append(msgs, chatapi.Message{Role: roles[b%3], Text: fmt.Sprint(b), Digest: fmt.Sprint(b & 3)})
		}
		a := Align(turns, NewRequest(msgs, 0))
		for i, p := range a.NewTurns {
			if i > 0 && (p.TurnIndex != a.NewTurns[i-1].TurnIndex+1 || p.MessageIndex <= a.NewTurns[i-1].MessageIndex) {
				t.Errorf("place %d is %+v after %+v", i, p, a.NewTurns[i-1])
			}
		}
		for _, p := range a.NewTurns {
			if a.TurnIDs[p.MessageIndex] != "" {
				t.Errorf("message %d is new, and turn %s says it", p.MessageIndex, a.TurnIDs[p.MessageIndex])
			}
		}
		a.AlignAnswer("x")
		a.Path("x")
		if len(turns) > 0 && len(msgs) > 0 {
			ids := make([]string, len(msgs))
			ids[len(ids)-1] = turns[len(msgs)%len(turns)].ID
			r := AlignStored(turns, NewRequest(msgs, 0), ids)
			r.AlignAnswer("x")
			if r.Path(); len(r.NewTurns) > 0 {
				t.Errorf("resumed: new %v", r.NewTurns)
			}
		}
		ChooseConversation([]Candidate{{Turns: turns}}, NewRequest(msgs, 0), a0)
		ShortlistConversations(turns, 3)
	})
}

var a0 = newWorld().now

func show(msgs []chatapi.Message) string {
	s := ""
	for _, m := range msgs {
		s += " | " + text(m.Role, m.Text)
	}
	return s
}

func saidBy(turns []memory.Turn) string { return " | " + contents(turns) }
