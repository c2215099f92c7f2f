package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/lessons"
	"github.com/loci-memory/loci/memory"
)

// What people of a random world say. Each line has words that nothing else has, so
// that it can be told where they come back.
var worldTopics = []struct {
	says  string // %s is one of words
	knows string
	word  []string
	one   bool // only one of them holds
}{
	{"I live in %s.", "User lives in %s", []string{"Berlin", "Lisbon", "Porto", "Rome"}, true},
	{"I work as a %s.", "User works as a %s", []string{"nurse", "baker", "pilot"}, true},
	{"I play the %s.", "User plays the %s", []string{"cello", "harp", "oboe"}, false},
	{"I am allergic to %s.", "User is allergic to %s", []string{"peanuts", "kiwis", "shrimp"}, false},
	{"I have a dog named %s.", "User has a dog named %s", []string{"Rex", "Fido"}, false},
}

// world is people who do as people do, at random, and what must hold of that.
type world struct {
	*scene
	t       *testing.T
	random  *rand.Rand
	people  []string
	garbled bool                       // the model's last reply could not be read
	log     []string                   // what was done
	exports map[string]map[int64]image // by person and time: what was exported then
	gone    map[string]map[string]bool // by person: words that were forgotten and not said since
}

type image struct {
	at   time.Time
	text string
}

// TestRandomWorlds does what people do, in any order, and checks after every step
// what must always hold. LOCI_WORLD_STEPS makes it longer, LOCI_WORLD_SEED another.
func TestRandomWorlds(t *testing.T) {
	steps, worlds := steps, []uint64{1, 2, 3, 4}[:seeds]
	if n, err := strconv.Atoi(os.Getenv("LOCI_WORLD_STEPS")); err == nil {
		steps = n
	}
	if n, err := strconv.ParseUint(os.Getenv("LOCI_WORLD_SEED"), 10, 64); err == nil {
		worlds = []uint64{n}
	}
	for _, seed := range worlds {
		for store, open := range stores {
			if store == "sqlite" && seed > 2 && len(worlds) > 1 {
				continue // it takes its time
			}
			t.Run(fmt.Sprintf("%s/%d", store, seed), func(t *testing.T) {
				t.Parallel()
				w := &world{
					scene: newScene(t, open), t: t, random: rand.New(rand.NewPCG(seed, seed)), people: []string{"ana", "ben"},
					exports: map[string]map[int64]image{}, gone: map[string]map[string]bool{},
				}
				if seed%2 == 0 {
					w.LLM = answering(w.model)
				}
				w.Opts.Learn.Summary.EveryExchanges = 2
				for _, p := range w.people {
					w.gone[p], w.names[p] = map[string]bool{}, "c0"
				}
				for i := range steps {
					if !w.do(i) {
						break
					}
				}
			})
		}
	}
}

// model is a model that reads what the rules read and decides as they do, now and
// then unreadably.
func (w *world) model(p memory.Prompt) string {
	w.garbled = !w.garbled && w.random.IntN(12) == 0 // not twice: that is a failure
	switch {
	case w.garbled:
		return "}{ what?"
	case p.Name == "summarize":
		return "- They talk\n- " + strings.Join(strings.Fields(p.User)[:3], " ")
	case p.Name == "reconcile":
		return `{"decisions": []}`
	}
	_, said, _ := strings.Cut(p.User, "The turns:")
	var list []string
	for _, topic := range worldTopics {
		for _, word := range topic.word {
			if quote := strings.TrimSuffix(fmt.Sprintf(topic.says, word), "."); strings.Contains(said, quote) {
				list = append(list, fmt.Sprintf(`{"text": %q, "quote": %q}`, fmt.Sprintf(topic.knows, word), quote))
			}
		}
	}
	if len(list) == 0 {
		return "NOTHING"
	}
	return `{"facts": [` + strings.Join(list, ", ") + `]}`
}

func (w *world) pick(list []string) string { return list[w.random.IntN(len(list))] }

// fact returns one of a person's facts with a status, nil if there is none.
func (w *world) fact(person string, statuses ...memory.Status) *memory.Fact {
	var all []memory.Fact
	noError(w.t)(w.EachMemory(context.Background(), memory.User(memory.DefaultNamespace, person), memory.Query{Statuses: statuses}, func(m memory.Memory) { all = append(all, *m.Fact) }))
	if len(all) == 0 {
		return nil
	}
	slices.SortFunc(all, func(a, b memory.Fact) int {
		return strings.Compare(a.Content+a.CreatedAt.String(), b.Content+b.CreatedAt.String())
	})
	return &all[w.random.IntN(len(all))]
}

// do does one thing and checks the world; false ends it.
func (w *world) do(i int) bool {
	person := w.pick(w.people)
	other := w.people[0]
	if other == person {
		other = w.people[1]
	}
	w.clock.Advance(time.Duration(w.random.IntN(7200)) * time.Second)
	if err := w.work(context.Background()); err != nil {
		w.t.Errorf("step %d: what was due: %v", i, err)
	}
	before := portrait(w.t, w.Store, memory.User(memory.DefaultNamespace, other))
	what, err := w.act(person)
	w.log = append(w.log, fmt.Sprintf("%3d %s: %s", i, person, what))
	if err == nil {
		err = w.work(context.Background())
	}
	if err != nil && !errors.Is(err, memory.Conflict) && !errors.Is(err, memory.Duplicate) && !errors.Is(err, memory.NotFound) {
		w.t.Errorf("step %d: %v", i, err)
	}
	var wrong []string
	if after := portrait(w.t, w.Store, memory.User(memory.DefaultNamespace, other)); after != before && !strings.HasPrefix(what, "time") {
		wrong = append(wrong, "another user's memory changed:\n"+lineDiff(before, after))
	}
	for _, p := range w.people {
		owner := memory.User(memory.DefaultNamespace, p)
		for _, s := range w.unsound(w.t, owner) {
			wrong = append(wrong, p+": "+s)
		}
		wrong = append(wrong, w.haunted(p, owner)...)
		wrong = append(wrong, w.misremembered(p, owner)...)
	}
	if len(wrong) > 0 || w.t.Failed() {
		w.t.Errorf("after step %d:\n%s\nhistory:\n%s", i, strings.Join(wrong, "\n"), strings.Join(w.log, "\n"))
		return false
	}
	return true
}

// act lets a person do one thing, and says what it was.
func (w *world) act(person string) (string, error) {
	ctx := context.Background()
	owner, author := memory.User(memory.DefaultNamespace, person), memory.Author{Kind: memory.ByPerson, Name: person}
	topic := worldTopics[w.random.IntN(len(worldTopics))]
	word := w.pick(topic.word)
	said := fmt.Sprintf(topic.says, word)
	w.mode = ""
	switch w.random.IntN(24) {
	case 0, 1, 2, 3, 4:
		delete(w.gone[person], word)
		return "says " + said, w.scene.say(ctx, person, said)
	case 5:
		w.names[person] = fmt.Sprint("c", w.random.IntN(3))
		w.chats[person] = nil
		delete(w.gone[person], word)
		return "in another chat says " + said, w.scene.say(ctx, person, said)
	case 6:
		if n := len(w.chats[person]) / 2; n > 0 {
			n = 1 + w.random.IntN(n)
			delete(w.gone[person], word)
			return fmt.Sprintf("edits message %d of %s to %s", n, w.names[person], said), w.step(fmt.Sprintf("edit %s %d: %s", person, n, said))
		}
	case 7:
		if n := len(w.chats[person]); n > 1 {
			w.reply = w.pick([]string{"OK.", "I see.", "Well."})
			return "regenerates in " + w.names[person], w.step("retry " + person)
		}
	case 8, 9:
		if f := w.fact(person, memory.Active); f != nil {
			_, err := w.Curate.Forget(ctx, owner, []string{f.ID}, "a person asked", author)
			w.forgot(person, f.Content, err)
			return "forgets " + f.Content, err
		}
	case 10, 11:
		wish := "Please forget that " + strings.TrimSuffix(said, ".") + "."
		since := w.Time()
		err := w.scene.say(ctx, person, wish)
		if w.granted(owner, wish, since) {
			w.forgot(person, word, err)
		} else {
			delete(w.gone[person], word) // the wish itself says it
		}
		return "says " + wish, err
	case 12:
		wish := "Please remember that " + said
		delete(w.gone[person], word)
		return "says " + wish, w.scene.say(ctx, person, wish)
	case 13:
		if f := w.fact(person, memory.Pending); f != nil {
			_, _, err := w.Curate.Judge(ctx, owner, []curate.Judgement{{ID: f.ID, Action: memory.ActionReject}}, "", author)
			return "rejects " + f.Content, err
		}
	case 14:
		if f := w.fact(person, memory.Pending); f != nil {
			_, _, err := w.Curate.Judge(ctx, owner, []curate.Judgement{{ID: f.ID, Action: memory.ActionApprove}}, "", author)
			return "approves " + f.Content, err
		}
	case 15, 16:
		if page, err := w.Changes(ctx, owner, memory.ChangeQuery{Limit: 30}); err == nil && len(page.Changes) > 0 {
			c := page.Changes[w.random.IntN(len(page.Changes))]
			u := curate.UndoRequest{RunID: c.Run, Cascade: w.random.IntN(2) == 0}
			if w.random.IntN(3) == 0 {
				u.RunID, u.ChangeID = "", c.ID
			}
			undone, err := w.Curate.Undo(ctx, owner, u, author)
			w.back(person, undone.Changes)
			return fmt.Sprintf("undoes %s %s (cascade %v): %v", c.Action, words(c), u.Cascade, err), err
		}
	case 17:
		if page, err := w.Changes(ctx, owner, memory.ChangeQuery{Limit: 8}); err == nil && len(page.Changes) > 0 {
			undone, err := w.Curate.Undo(ctx, owner, curate.UndoRequest{ToTime: page.Changes[len(page.Changes)-1].At}, author)
			w.back(person, undone.Changes)
			return fmt.Sprintf("goes back to before the last %d changes", len(page.Changes)-1), err
		}
	case 18:
		p := []core.Pause{core.PauseNone, core.PauseNone, core.PauseLearning, core.PauseMemory}[w.random.IntN(4)]
		return "pauses " + string(p), w.SetPause(ctx, owner, p, "", author)
	case 19:
		w.Opts.Learn.Upkeep.UserLimit = []int{0, 6, 12}[w.random.IntN(3)]
		changes, _, err := w.Upkeep.RunNow(ctx, owner, false, "", author)
		return fmt.Sprintf("tidies to %d: %d leave", w.Opts.Learn.Upkeep.UserLimit, len(changes)), err
	case 20:
		n, err := w.Lessons.Relearn(ctx, owner, lessons.RelearnOptions{})
		return fmt.Sprintf("relearns %d turns", n), err
	case 21:
		w.Close()
		w.Engine = New(w.Parts, w.Opts)
		return "restarts", nil
	case 22:
		w.Opts.Learn.Review.Categories = [][]string{nil, {"health"}}[w.random.IntN(2)]
		return fmt.Sprintf("reviews %q", w.Opts.Learn.Review.Categories), nil
	case 23:
		w.clock.Advance(24 * time.Hour)
		return "time: a day passes", nil
	}
	return "does nothing", nil
}

// granted reports whether a wish was granted: its turn has left recall. While
// learning is paused, or where nothing is known, it is not.
func (w *world) granted(owner memory.Owner, wish string, since time.Time) bool {
	var newest *memory.Turn
	q := every
	q.Kinds, q.Text = []memory.Kind{memory.KindTurn}, wish
	noError(w.t)(w.EachMemory(context.Background(), owner, q, func(m memory.Memory) {
		if m.Turn.CreatedAt.After(since) {
			newest = m.Turn
		}
	}))
	return newest != nil && newest.Status == memory.Retired
}

func words(c memory.Change) string {
	if f := c.After.Fact; f != nil {
		return f.Content
	}
	return c.After.Target()
}

// forgot notes that what has a topic's word is not to be seen again.
func (w *world) forgot(person, content string, err error) {
	if err != nil {
		return
	}
	for _, topic := range worldTopics {
		for _, word := range topic.word {
			if strings.Contains(content, word) {
				w.gone[person][word] = true
			}
		}
	}
}

// back notes what an undo brought back.
func (w *world) back(person string, changes []memory.Change) {
	for _, c := range changes {
		for _, topic := range worldTopics {
			for _, word := range topic.word {
				if c.After.Fact == nil || strings.Contains(c.After.Fact.Content, word) {
					delete(w.gone[person], word)
				}
			}
		}
	}
}

// haunted says what is recalled or active though it was forgotten and not said since.
func (w *world) haunted(person string, owner memory.Owner) (wrong []string) {
	for word := range w.gone[person] {
		for _, topic := range worldTopics {
			if !slices.Contains(topic.word, word) {
				continue
			}
			for _, f := range w.contents(w.t, owner, memory.Query{Text: fmt.Sprintf(topic.knows, word)}) {
				wrong = append(wrong, fmt.Sprintf("%s: %q was forgotten and is active", person, f))
			}
			for _, s := range w.contents(w.t, owner, memory.Query{Kinds: []memory.Kind{memory.KindSummary}, Text: word}) {
				wrong = append(wrong, fmt.Sprintf("%s: %q was forgotten and stands in the summary %q", person, word, s))
			}
			for _, hit := range w.ask(w.t, owner, strings.TrimSuffix(fmt.Sprintf(topic.says, word), ".")+"?", memory.At{}) {
				if strings.Contains(hit, word) {
					wrong = append(wrong, fmt.Sprintf("%s: %q was forgotten and is recalled: %q", person, word, hit))
				}
			}
		}
	}
	return wrong
}

// misremembered compares some exports of earlier with what memory says today that it
// believed then.
func (w *world) misremembered(person string, owner memory.Owner) (wrong []string) {
	ctx := context.Background()
	export := func(at memory.At) string {
		var lines []string
		q := every
		q.At = at
		noError(w.t)(w.EachMemory(ctx, owner, q, func(m memory.Memory) {
			line := fmt.Sprintf("%s %s %s %q", m.ID(), m.Kind(), m.Status(), m.Content())
			if f := m.Fact; f != nil {
				line += fmt.Sprint(f.Confidence, f.SupersededBy, f.Provenance.Turns, f.ObservedAt, f.UpdatedAt)
			}
			lines = append(lines, line)
		}))
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	}
	if w.exports[person] == nil {
		w.exports[person] = map[int64]image{}
	}
	now := image{at: w.Time(), text: export(memory.At{})}
	w.exports[person][int64(w.random.IntN(5))] = now
	for _, then := range w.exports[person] {
		if got := export(memory.At{AsOf: then.at}); got != then.text {
			wrong = append(wrong, fmt.Sprintf("%s: as of %v memory says it believed something else:\n%s", person, then.at, lineDiff(then.text, got)))
		}
	}
	return wrong
}
