package index

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

// player makes random histories and searches from a small vocabulary, so that
// words, conversations and ids meet often.
type player struct {
	*rand.Rand
	owners []memory.Owner
	next   int
}

func newPlayer(seed uint64) *player {
	return &player{Rand: rand.New(rand.NewPCG(seed, 1)), owners: []memory.Owner{
		memory.User("default", "ana"), memory.User("default", "ben"), memory.Global("default"),
	}}
}

func pick[T any](p *player, of ...T) T { return of[p.IntN(len(of))] }

func (p *player) words(n int) string {
	var out []string
	for range n {
		out = append(out, pick(p, "Lisbon", "moved", "dog", "hiking", "peanuts", "Ana", "the", "May", "2026", "guitar", "coffee", "work", "job", "career", "occupation", "4", "is", "book"))
	}
	return strings.Join(out, " ")
}

func (p *player) vector() []float32 {
	if p.IntN(4) == 0 {
		return nil
	}
	v := make([]float32, 16)
	for i := range v {
		v[i] = float32(p.NormFloat64())
	}
	if p.IntN(2) == 0 { // is packed
		clear(v[3:])
	}
	vector.Normalize(v)
	return v
}

func (p *player) item(owner memory.Owner) memory.IndexItem {
	p.next++
	id := fmt.Sprintf("m%04d", p.next)
	at := day.AddDate(0, 0, -p.IntN(60))
	content := p.words(1+p.IntN(12)) + pick(p, "", "", "?")
	var m memory.Memory
	switch p.IntN(8) {
	case 0, 1:
		f := &memory.Fact{ID: id, Scope: memory.Scope{Owner: owner, Project: pick(p, "", "", "p1", "p2")}, Content: content,
			Category: pick(p, "", "food", "home"), Status: memory.Active, ObservedAt: at, CreatedAt: at, UpdatedAt: at}
		if p.IntN(3) == 0 {
			f.Tags = []string{pick(p, "x", "y")}
		}
		if p.IntN(4) == 0 {
			f.ExpiresAt = day.AddDate(0, 0, p.IntN(3)-1)
		}
		f.Provenance.Conversation = pick(p, "", "c1", "c2")
		m.Fact = f
	case 2:
		m.Summary = &memory.Summary{ID: id, Scope: memory.Scope{Owner: owner, Conversation: pick(p, "c1", "c2")}, Text: content, CreatedAt: at}
	default:
		m.Turn = &memory.Turn{ID: id, Owner: owner, Conversation: pick(p, "c1", "c2", "c3"), Project: pick(p, "", "", "p1"),
			Index: p.IntN(40), Role: pick(p, memory.RoleUser, memory.RoleAssistant), Name: pick(p, "", "", "Ana"), Content: content, CreatedAt: at}
	}
	return memory.IndexItem{Memory: m, Vector: p.vector()}
}

func (p *player) step(src *source) {
	owner := pick(p, p.owners...)
	var present []string
	for _, item := range src.reference()[owner] {
		present = append(present, item.ID)
	}
	slices.Sort(present)
	switch {
	case len(present) > 0 && p.IntN(4) == 0:
		src.put(owner, memory.IndexItem{ID: pick(p, present...), Removed: true})
	case len(present) > 0 && p.IntN(6) == 0: // reworded
		item := p.item(owner)
		id := pick(p, present...)
		switch {
		case item.Memory.Fact != nil:
			item.Memory.Fact.ID = id
		case item.Memory.Turn != nil:
			item.Memory.Turn.ID = id
		default:
			item.Memory.Summary.ID = id
		}
		src.put(owner, item)
	default:
		var items []memory.IndexItem
		for range 1 + p.IntN(4) {
			items = append(items, p.item(owner))
		}
		src.put(owner, items...)
	}
}

func (p *player) search() memory.Search {
	s := memory.Search{Text: p.words(p.IntN(5)) + pick(p, "", "", "", " Lisobn", " hikign", " guittar cofee", " peanut moveed caerer", " mya"), Vector: p.vector(), Limit: 5 + p.IntN(60), WordsOnly: p.IntN(4) == 0, WordsFirst: p.IntN(2) == 0}
	for range 1 + p.IntN(2) {
		s.Scopes = append(s.Scopes, memory.Scope{Owner: pick(p, p.owners...), Project: pick(p, "", "", "p1")})
	}
	switch p.IntN(8) {
	case 0:
		s.Kinds = []memory.Kind{memory.KindTurn, memory.KindSummary}
	case 1:
		s.Category = "food"
	case 2:
		s.Tag = "x"
	case 3:
		s.Conversation = "c1"
	case 4:
		s.ExcludedIDs = map[string]bool{"m0001": true, "m0005": true}
	case 5:
		s.Now = day
	case 6:
		s.AllowedIDs = map[string]bool{"m0001": true, "m0002": true, "m0005": true, "m0008": true}
	}
	return s
}
