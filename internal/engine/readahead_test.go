package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/thread"
	"github.com/loci-memory/loci/internal/wire"
	"github.com/loci-memory/loci/memory"
)

// talkStore counts how often it is asked what was said, and which memories are read.
type talkStore struct {
	memory.Store
	asked atomic.Int32
	read  atomic.Int32
}

func (s *talkStore) Turns(ctx context.Context, owner memory.Owner, q memory.TurnQuery) ([]memory.Turn, error) {
	s.asked.Add(1)
	return s.Store.Turns(ctx, owner, q)
}

func (s *talkStore) Conversations(ctx context.Context, owner memory.Owner, q memory.ConversationQuery) (memory.ConversationPage, error) {
	s.asked.Add(1)
	return s.Store.Conversations(ctx, owner, q)
}

func (s *talkStore) Get(ctx context.Context, owner memory.Owner, ids ...string) ([]memory.Memory, error) {
	s.read.Add(int32(len(ids))) //nolint:gosec // few
	return s.Store.Get(ctx, owner, ids...)
}

// TestAChatThatGoesOnIsReadAhead: once the answer is stored, and again once it was learned
// from, so that the client's next request waits for no turn of it to be read.
func TestAChatThatGoesOnIsReadAhead(t *testing.T) {
	const asked, answer, next = `{"role":"user","content":"I live in Lisbon, as you know."}`, "A lovely town.", `{"role":"user","content":"Which bridge is the red one?"}`
	for name, in := range map[string]Incoming{
		"by what was said": {},
		"by a name":        {Extras: wire.Extras{ID: "c"}},
		"by a front end":   {ChatID: "c"},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, r *rig) {
				store, in := &talkStore{Store: r.Store}, in
				r.Store = store
				in.Owner = ana
				whole := func(more string) *wire.Chat {
					return decode(t, `[`+asked+`,{"role":"assistant","content":"`+answer+`"}`+more+`]`)
				}
				in.Chat = decode(t, `[`+asked+`]`)
				r.exchange(t, in, answer)
				r.background.Wait()
				open := func() *Exchange {
					before := store.asked.Load()
					in.Chat = whole("," + next)
					x := r.Open(t.Context(), in)
					x.settle()
					if n := store.asked.Load() - before; n != 0 {
						t.Errorf("the store was asked %d times what was said, want 0", n)
					}
					if !x.placed || len(x.at.New) != 1 || x.at.New[0].Index != 2 || x.at.Turns[1] == "" || x.at.Parent != x.at.Turns[1] {
						t.Errorf("placed %v: %+v; want one new message after the answer", x.placed, x.at)
					}
					return x
				}
				open()
				r.learned(t)
				r.background.Wait()
				if got := r.facts(t, ana); len(got) == 0 {
					t.Fatal("nothing was learned")
				}
				x := open()
				before := store.asked.Load()
				x.Prepare(t.Context())
				x.RecordQuestion(t.Context())
				x.RecordAnswer(t.Context(), answered("The one to Almada."))
				r.background.Wait()
				if n := store.asked.Load() - before; n != 0 {
					t.Errorf("to store the exchange the store was asked %d times what was said, want 0", n)
				}
				if path := r.path(t, x.conversation.ID); len(path) != 4 {
					t.Errorf("the path is %q, want four turns", path)
				}
			})
		})
	}
}

// TestWhatIsReadAheadIsWhatTheStoreHas, whatever is done meanwhile, by another server too.
func TestWhatIsReadAheadIsWhatTheStoreHas(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		random := rand.New(rand.NewPCG(7, 7))
		servers := []*rig{r, r.second(t)}
		talks := map[string]string{} // messages so far, by name
		hits := 0
		check := func(step int, did string) {
			for i, s := range servers {
				s.background.Wait()
				a, key, _ := s.latest.expected(ana)
				if a == nil {
					continue
				}
				held, version := s.ahead(t.Context(), key)
				if version == 0 {
					continue
				}
				hits++
				if is := must[[]thread.Candidate](t)(s.onto(t.Context(), key)); !reflect.DeepEqual(unlearned(held), unlearned(is)) {
					t.Fatalf("step %d, %s: server %d holds\n%+v, but there is\n%+v", step, did, i, held, is)
				}
			}
		}
		for step := range 150 {
			s, name := servers[random.IntN(2)], []string{"", "c", "w"}[random.IntN(3)]
			did := "talk " + name
			switch random.IntN(10) {
			case 0:
				did = "forget"
				_, _, err := s.ForgetMatching(t.Context(), ana, Matching{Query: "Where is the lantern?", Erase: random.IntN(2) == 0}, her)
				ignore(t, err)
			case 1:
				did = "rules"
				if chat := s.anyChat(t, random.IntN); chat != "" {
					_, err := s.EditChat(t.Context(), ana, chat, ChatEdit{Rules: ptr(fmt.Sprint("Be brief: ", step))}, her)
					ignore(t, err)
				}
			case 2:
				did = "delete"
				if chat := s.anyChat(t, random.IntN); chat != "" && random.IntN(3) == 0 {
					_, err := s.DeleteChat(t.Context(), ana, chat, true, her)
					ignore(t, err)
				}
			case 3:
				did = "learn"
				s.learned(t)
			case 4:
				did, talks[name] = "new talk "+name, ""
			default:
				said := fmt.Sprintf(`{"role":"user","content":"I put the lantern in box %d."}`, random.IntN(40))
				if talks[name] != "" {
					said = talks[name] + "," + said
				}
				answer := fmt.Sprintf("Box %d it is.", random.IntN(3))
				in := Incoming{Owner: ana, Chat: decode(t, "["+said+"]"), ChatID: name}
				if name == "w" {
					in.ChatID, in.Extras.ID = "", name
				}
				s.exchange(t, in, answer)
				if talks[name] = said + `,{"role":"assistant","content":"` + answer + `"}`; random.IntN(4) == 0 { // asked again, or edited
					talks[name] = said[:max(0, strings.LastIndex(said, `,{"role":"user"`))]
				}
			}
			check(step, did)
		}
		if hits < 50 {
			t.Errorf("something was held only %d times", hits)
		}
	})
}

// unlearned is candidates without when their turns were learned from, which nobody is laid
// on.
func unlearned(cands []thread.Candidate) (out []thread.Candidate) {
	for _, c := range cands {
		turns := make([]memory.Turn, len(c.Turns))
		for i, turn := range c.Turns {
			turns[i] = turn
			turns[i].LearnedAt = turns[i].CreatedAt
		}
		c.Turns = turns
		out = append(out, c)
	}
	return out
}

// ignore lets pass what a person may be told.
func ignore(t *testing.T, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, memory.Conflict) && !errors.Is(err, memory.NotFound) {
		t.Fatal(err)
	}
}

// anyChat returns one of an owner's chats, "" without one.
func (r *rig) anyChat(t *testing.T, pick func(int) int) string {
	t.Helper()
	page := must[memory.ConversationPage](t)(r.Store.Conversations(t.Context(), ana, memory.ConversationQuery{}))
	if len(page.Conversations) == 0 {
		return ""
	}
	return page.Conversations[pick(len(page.Conversations))].ID
}

// TestWhatIsAppendedStands: in order, of a chat that may never end the last of it, and
// nothing that the store may have taken otherwise.
func TestWhatIsAppendedStands(t *testing.T) {
	turn := func(n int) memory.Turn {
		return memory.Turn{ID: fmt.Sprint("t", n), Index: n, Role: memory.RoleUser, Status: memory.Active}
	}
	const windowTurns = 500
	is := chatNow{version: 7}
	for n := range windowTurns {
		is.known.Turns = append(is.known.Turns, turn(n))
	}
	plain := memory.Batch{Turns: []memory.Turn{turn(windowTurns), turn(windowTurns + 1)}}
	receipt := memory.Receipt{Version: 8, At: time.Unix(1, 0)}
	for most, first := range map[int]int{windowTurns + 2: 0, windowTurns: 2} {
		got := is.after(plain, receipt, most)
		turns := got.known.Turns
		if last := turns[len(turns)-1]; got.version != 8 || turns[0].Index != first || last.Index != windowTurns+1 || last.Version != 8 || !last.RecordedAt.Equal(receipt.At) {
			t.Errorf("at most %d: version %d, turns %d to %+v, want 8, %d, the last as it was recorded", most, got.version, turns[0].Index, last, first)
		}
	}
	if len(is.known.Turns) != windowTurns || is.known.Turns[0].Index != 0 {
		t.Error("what was known is another now")
	}
	hidden, marked := turn(windowTurns), plain
	hidden.Status, marked.Marks = memory.Retired, marks([]string{"t1"}, nil)
	for name, c := range map[string]struct {
		batch   memory.Batch
		receipt memory.Receipt
	}{
		"somebody wrote between":       {plain, memory.Receipt{Version: 9}},
		"it was there":                 {plain, memory.Receipt{Version: 8, Again: true}},
		"a turn leaves the path":       {marked, receipt},
		"some of it was there":         {memory.Batch{Turns: []memory.Turn{turn(3)}}, receipt},
		"the words of a turn are gone": {memory.Batch{Turns: []memory.Turn{hidden}}, receipt},
		"it was refused":               {plain, memory.Receipt{}},
	} {
		if got := is.after(c.batch, c.receipt, windowTurns+2); got.version != 0 {
			t.Errorf("%s: it stands at %d", name, got.version)
		}
	}
}

// TestNothingErasedIsHeldAhead: here, and where another server erased it.
func TestNothingErasedIsHeldAhead(t *testing.T) {
	const marzipan = `[{"role":"user","content":"The cellar holds marzipan, mind you."}]`
	for name, erase := range map[string]func(t *testing.T, r *rig){
		"the owner": func(t *testing.T, r *rig) { must[Erased](t)(r.EraseOwner(t.Context(), ana, her)) },
		"a turn": func(t *testing.T, r *rig) {
			if _, _, err := r.ForgetMatching(t.Context(), ana, Matching{Query: "What does the cellar hold?", Erase: true}, her); err != nil {
				t.Fatal(err)
			}
		},
		"elsewhere":           func(_ *testing.T, r *rig) { r.ErasedElsewhere(ana) },
		"by nobody knows who": func(_ *testing.T, r *rig) { r.ErasedElsewhere("") },
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, r *rig) {
				r.exchange(t, Incoming{Owner: ana, Chat: decode(t, marzipan)}, "Noted.")
				r.background.Wait()
				a, key, version := r.latest.expected(ana)
				if a == nil || version == 0 {
					t.Fatal("nothing was read ahead")
				}
				held := a.known
				since := r.latest.now()
				erase(t, r)
				if late, _, _ := r.latest.expected(ana); late == a {
					t.Error("what was erased is held still")
				}
				r.latest.put(a, key, version+1, held) // read before that
				if late, _, _ := r.latest.expected(ana); late == a {
					t.Error("what was read before is held again")
				}
				r.latest.expect(key, chatNow{version, held[0]}, since) // by an exchange that was under way
				if late, _, version := r.latest.expected(ana); late == nil || version != 0 || len(late.known) > 0 {
					t.Errorf("what an exchange knew before is held again: %+v at %d", late, version)
				}
			})
		})
	}
}

// TestWhatIsReadAheadIsBounded: the chats used the longest ago go first, and one that is
// too large is not held at all.
func TestWhatIsReadAheadIsBounded(t *testing.T) {
	var l latestChats
	hold := func(owner memory.Owner, size int) {
		key := chatKey{owner: owner, id: "c"}
		l.expect(key, chatNow{}, l.now())
		a, _, _ := l.expected(owner)
		l.put(a, key, 1, []thread.Candidate{{Turns: []memory.Turn{{Content: strings.Repeat("x", size)}}}})
	}
	const each = 1 << 20
	var owners []memory.Owner
	for i := range 40 {
		owner := memory.User("default", fmt.Sprint("u", i))
		owners = append(owners, owner)
		hold(owner, each)
		if l.bytes > readAheadBytes {
			t.Fatalf("%d bytes are held, want %d at most", l.bytes, readAheadBytes)
		}
		if _, ok := l.get(chatKey{owner: owners[0], id: "c"}, 1); !ok {
			t.Fatalf("after %d others, who is asked for each time is gone", i)
		}
	}
	if len(l.of) < 10 || len(l.of) > readAheadBytes/each || l.order.Len() != len(l.of) {
		t.Errorf("%d chats are held, %d in order", len(l.of), l.order.Len())
	}
	hold(owners[0], readAheadShare)
	if _, ok := l.get(chatKey{owner: owners[0], id: "c"}, 1); ok {
		t.Error("a chat that is too large is held")
	}
	l.forget("")
	if l.bytes != 0 || len(l.of) != 0 {
		t.Errorf("%d bytes of %d chats are held, want none", l.bytes, len(l.of))
	}
}

// TestMemoriesOfWhoIsLoadedAreReadAhead, a few at a time, until that is to end.
func TestMemoriesOfWhoIsLoadedAreReadAhead(t *testing.T) {
	r := newRig(t, stores["inmem"])
	store := &talkStore{Store: r.Store}
	r.Store = store
	ids := make([]string, 3*readAtOnce)
	for i := range ids {
		ids[i] = fmt.Sprint("m", i)
	}
	r.Loaded(t.Context(), ana, ids)
	if n := int(store.read.Load()); n != len(ids) {
		t.Errorf("%d memories were read, want %d", n, len(ids))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.Loaded(ctx, ana, ids)
	if n := int(store.read.Load()); n > len(ids)+readAtOnce {
		t.Errorf("%d memories were read after the end", n-len(ids))
	}
	r.loading.Lock() // another owner's are read
	r.Loaded(t.Context(), ana, ids)
	r.loading.Unlock()
}

// BenchmarkPlace lays the next request of a chat on what is stored of it, read then or
// ahead.
func BenchmarkPlace(b *testing.B) {
	for _, turns := range []int{4, 40, 400} {
		r := newRig(b, stores["sqlite"])
		say, messages := speaker(4), ""
		add := func(role string) {
			messages += fmt.Sprintf(`{"role":%q,"content":%q},`, role, say(20))
		}
		chat := func(more string) *wire.Chat {
			c, err := wire.Decode([]byte(`{"messages":[` + messages + more + `]}`))
			if err != nil {
				b.Fatal(err)
			}
			return c
		}
		for range turns/2 - 1 {
			add("user")
			add("assistant")
		}
		add("user")
		x := r.Open(b.Context(), Incoming{Owner: ana, Chat: chat(`{"role":"user","content":"And then?"}`)})
		x.Prepare(b.Context())
		x.RecordQuestion(b.Context())
		x.RecordAnswer(b.Context(), answered("Then it was over."))
		r.background.Wait()
		next := Incoming{Owner: ana, Chat: chat(`{"role":"user","content":"And then?"},{"role":"assistant","content":"Then it was over."},{"role":"user","content":"Who says so?"}`)}
		run := func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x := r.Open(b.Context(), next)
				x.settle()
				if !x.placed || len(x.at.New) != 1 {
					b.Fatalf("placed %v: %d new messages", x.placed, len(x.at.New))
				}
			}
		}
		b.Run(fmt.Sprintf("ahead/%d", turns), run)
		r.latest.forget("")
		b.Run(fmt.Sprintf("read/%d", turns), run)
	}
}

// askedStore notes which memories it was asked for.
type askedStore struct {
	memory.Store
	mu  sync.Mutex
	ids []string
}

func (s *askedStore) Get(ctx context.Context, owner memory.Owner, ids ...string) ([]memory.Memory, error) {
	s.mu.Lock()
	s.ids = append(s.ids, ids...)
	s.mu.Unlock()
	return s.Store.Get(ctx, owner, ids...)
}

// TestWhatWasLearnedIsReadBack by a store at hand, the turns and the facts, so that no
// question waits for that.
func TestWhatWasLearnedIsReadBack(t *testing.T) {
	for _, atHand := range []bool{true, false} {
		r := newRig(t, stores["sqlite"])
		r.opts.AtHand = atHand
		store := &askedStore{Store: r.Store}
		r.Store = store
		r.exchange(t, Incoming{Owner: ana, Chat: decode(t, `[{"role":"user","content":"I live in Lisbon, as you know."}]`)}, "A lovely town.")
		r.learned(t)
		r.background.Wait()
		page, err := r.Store.List(t.Context(), ana, memory.Query{Kinds: []memory.Kind{memory.KindFact}})
		if err != nil || len(page.Memories) == 0 {
			t.Fatalf("nothing was learned: %v", err)
		}
		fact := page.Memories[0].Fact
		if slices.Contains(store.ids, fact.ID) != atHand {
			t.Errorf("at hand %v: of the fact %s and others %q were read", atHand, fact.ID, store.ids)
		}
		if turn := fact.Provenance.Turns[0]; atHand && !slices.Contains(store.ids, turn) {
			t.Errorf("the turn %s was not read back", turn)
		}
	}
}
