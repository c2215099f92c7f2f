package index

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// excerptOf returns the items with these ids and up to three turns around each, of all
// that an owner has, and what is known of the whole, counted without the index.
func excerptOf(all []memory.Item, ids map[string]bool, asked []string) memory.Excerpt {
	e := memory.Excerpt{Beside: map[string]bool{}, Whole: memory.Whole{Kinds: map[memory.Kind]memory.Amount{}, Terms: map[string]int{}}}
	conversations := map[string][]memory.Item{}
	has := func(items []memory.Item, term string) bool {
		return slices.ContainsFunc(items, func(i memory.Item) bool { return slices.Contains(text.Terms(i.Memory.Content()), term) })
	}
	for _, i := range all {
		length := int64(3 * len(text.Terms(i.Memory.Content())))
		length += 3 // the day: its month, year and day
		kind := memory.KindFact
		if i.Memory.Turn != nil {
			kind = memory.KindTurn
			c := i.Memory.Turn.Conversation
			conversations[c] = append(conversations[c], i)
		} else if ids[i.ID] {
			e.Items = append(e.Items, i)
		}
		e.Whole.Kinds[kind] = memory.Amount{Memories: e.Whole.Kinds[kind].Memories + 1, Length: e.Whole.Kinds[kind].Length + length}
		for _, term := range asked {
			if kind == memory.KindFact && has([]memory.Item{i}, term) {
				e.Whole.Terms[term]++
			}
		}
	}
	for _, c := range conversations {
		for n, i := range c {
			window := c[max(0, n-3):min(len(c), n+4)]
			for _, term := range asked {
				if has(window, term) {
					e.Whole.Terms[term]++
				}
			}
			length := int64(3*len(text.Terms(i.Memory.Content())) + 3)
			for _, before := range []int{n, len(c) - 1 - n} {
				if before < 3 {
					e.Whole.Ends[before] += length
				}
			}
			if slices.ContainsFunc(window, func(i memory.Item) bool { return ids[i.ID] }) {
				e.Items = append(e.Items, i)
				e.Beside[i.ID] = !ids[i.ID]
			}
		}
	}
	return e
}

// TestAnExcerptIsMeasuredAsTheWhole searches some of what an owner has, with what is
// around that.
func TestAnExcerptIsMeasuredAsTheWhole(t *testing.T) {
	const owner = memory.Owner("user:default/ana")
	r := rand.New(rand.NewPCG(3, 3))
	sentence := func() string {
		words := make([]string, 3+r.IntN(9))
		for i := range words {
			words[i] = fmt.Sprintf("w%dx", int(60*math.Pow(r.Float64(), 2)))
		}
		return strings.Join(words, " ")
	}
	var all []memory.Item
	for c := range 12 {
		for place := range 1 + r.IntN(14) {
			turn := &memory.Turn{ID: fmt.Sprintf("%d-%02d", c, place), Owner: owner, Conversation: fmt.Sprint(c), Index: place, Role: memory.RoleUser, Status: memory.Active, Content: sentence(), CreatedAt: day}
			all = append(all, memory.Item{ID: turn.ID, Memory: memory.Memory{Turn: turn}})
		}
		fact := &memory.Fact{ID: fmt.Sprint("fact ", c), Scope: memory.Scope{Owner: owner}, Status: memory.Active, Content: sentence(), ObservedAt: day}
		all = append(all, memory.Item{ID: fact.ID, Memory: memory.Memory{Fact: fact}})
	}
	whole := Build(all)
	for range 50 {
		ids := map[string]bool{}
		for range 10 {
			ids[all[r.IntN(len(all))].ID] = true
		}
		question := sentence()
		s := memory.Search{Scopes: []memory.Scope{{Owner: owner}}, Text: question, Now: day.Add(time.Hour), Limit: 1000}
		byID := map[string]memory.Candidate{}
		want, err := whole.Search(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range want {
			byID[c.ID] = c
		}
		e := excerptOf(all, ids, unique(text.Terms(question)))
		got, err := BuildExcerpt(e).Search(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range got {
			w, there := byID[c.ID]
			off := func(a, b float32) bool { return math.Abs(float64(a-b)) > 1e-5 }
			if !ids[c.ID] || !there || off(c.Found.Lexical, w.Found.Lexical) || off(c.Found.Own, w.Found.Own) || off(c.Found.Peak, w.Found.Peak) {
				t.Fatalf("%q found %s (wanted: %v), measured %+v, want %+v", question, c.ID, ids[c.ID], c.Found, w.Found)
			}
			delete(ids, c.ID)
		}
		for id := range ids {
			if w, there := byID[id]; there {
				t.Fatalf("%q did not find %s, which measures %+v", question, id, w.Found)
			}
		}
	}
}
