package sqlstore

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

// aroundOf reads turns at places (?3 and ?4) with their vectors, and those around them
// without: as many before and after each as count for it, in the order of the
// conversation; and others (?5) without.
var aroundOf = `WITH around AS (SELECT b.memory, bool_or(b.found) AS found FROM unnest(?3::text[], ?4::bigint[]) AS c (thread, place) JOIN LATERAL (
		(SELECT memory, place = c.place AS found FROM near WHERE owner = ?1 AND model = ?2 AND thread = c.thread AND place BETWEEN 0 AND c.place
			ORDER BY place DESC, memory DESC LIMIT ` + strconv.Itoa(nearAround+1) + `)
		UNION ALL
		(SELECT memory, false AS found FROM near WHERE owner = ?1 AND model = ?2 AND thread = c.thread AND place > c.place
			ORDER BY place, memory LIMIT ` + strconv.Itoa(nearAround) + `)) AS b ON true GROUP BY b.memory),
	all_of AS (SELECT memory, found FROM around UNION ALL SELECT memory, false FROM unnest(?5::text[]) AS o (memory) WHERE memory NOT IN (SELECT memory FROM around))
	SELECT ` + leanTurns.columns + `, CASE WHEN found THEN (SELECT data FROM vectors v WHERE v.owner = ?1 AND v.memory = m.id AND v.model = ?2) END, found
	FROM all_of JOIN turns m ON m.owner = ?1 AND m.id = all_of.memory WHERE m.status = 'active'`

// read reads what was found, the turns around it, and those that the words count the most
// for in the same conversations, which count for it, too. What recall may not see by now
// is left out.
func (n *nearing) read(hits, byWords []hit) error {
	var threads, others listed
	var places []int64
	for _, h := range hits {
		if h.place < 0 {
			others = append(others, h.memory)
			continue
		}
		threads, places = append(threads, h.thread), append(places, h.place)
	}
	n.found.Beside = map[string]bool{}
	var asked []asking
	add := func(from source, query string, args ...any) {
		asked = append(asked, asking{query, append([]any{string(n.owner), n.model}, args...), func(row scanner) error { return n.add(from, row) }})
	}
	if len(threads) > 0 {
		add(leanTurns, aroundOf, threads, places, bestOf(threads, byWords))
	}
	for _, from := range lean {
		if len(others) > 0 && from.table != leanTurns.table {
			add(from, `SELECT `+from.columns+`, (SELECT data FROM vectors v WHERE v.owner = m.owner AND v.memory = m.id AND v.model = ?2), true
				FROM `+from.table+` m WHERE owner = ?1 AND status = 'active' AND id IN (SELECT value FROM json_each(?3))`, others)
		}
	}
	if err := n.together(append(asked, asking{text: "COMMIT"})...); err != nil {
		return err
	}
	slices.SortFunc(n.found.Items, func(a, b memory.Item) int {
		return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(placeOf(a), placeOf(b)), cmp.Compare(a.ID, b.ID))
	})
	return nil
}

// talkBest is how many turns the index measures a conversation by.
const talkBest = 3

// bestOf returns the best turns of conversations. Found are turns, the best first.
func bestOf(threads []string, found []hit) listed {
	left := map[string]int{}
	for _, t := range threads {
		left[t] = talkBest
	}
	var ids listed
	for _, h := range found {
		if h.place >= 0 && left[h.thread] > 0 {
			left[h.thread]--
			ids = append(ids, h.memory)
		}
	}
	return ids
}

// placeOf puts the turns of one write in order, which the index likes.
func placeOf(i memory.Item) int {
	if i.Memory.Turn != nil {
		return i.Memory.Turn.Index
	}
	return -1
}

// add takes one memory.
func (n *nearing) add(from source, row scanner) error {
	var data []byte
	var found bool
	m, err := from.scan(n.owner, row, &data, &found)
	if err != nil || m.Status() != memory.Active || m.Content() == "" {
		return err
	}
	item := memory.Item{ID: m.ID(), Version: m.Version(), Memory: m}
	if !n.rests() {
		item.Vector = vector.FromBytes(data)
	}
	if !found {
		n.found.Beside[item.ID] = true
	}
	n.found.Items = append(n.found.Items, item)
	return nil
}
