package sqlstore

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/loci-memory/loci/internal/text"
)

const (
	// nearWords is how many memories are looked at that have one of the rarest words of a
	// question; commoner words only say which of them come first.
	nearWords = 5000
	// nearHits is how many of these are looked at with the turns around them, for each
	// memory that is wanted.
	nearHits = 5
	// nearAround is how many turns before and after each one count for it.
	nearAround = 3
	// nearSample is how many memories with a word are looked at to learn how many turns are
	// beside one that has it.
	nearSample = 100
)

// relatedWeight is what a word related to the question's counts of it, as in the resident index.
const relatedWeight = 0.4

// word is a term that is looked for, and what it is worth.
type word struct {
	term   string
	n      int
	weight float64
}

// spreadOf asks in how many memories terms are and, of some of these, how many there are
// and how many with the turns around them; nothing of a copy that is behind.
const spreadOf = `SELECT t.term, t.n, s.seen, s.spread
	FROM (SELECT DISTINCT term, query FROM unnest(?3::text[], ?4::text[]) AS u (term, query)) q
	JOIN near_terms t ON t.owner = ?1 AND t.model = ?2 AND t.term = q.term AND t.n > 0
	JOIN LATERAL (
		WITH some_of AS (SELECT memory, thread, place FROM near WHERE owner = ?1 AND model = ?2 AND words @@ q.query::tsquery LIMIT ?5)
		SELECT count(*) AS seen, count(*) FILTER (WHERE place < 0) + (SELECT count(DISTINCT b.memory) FROM some_of a
			JOIN near b ON b.owner = ?1 AND b.model = ?2 AND b.thread = a.thread AND b.place BETWEEN a.place - ?6 AND a.place + ?6
			WHERE a.place >= 0 AND b.place >= 0) AS spread
		FROM some_of) s ON true
	WHERE EXISTS (SELECT 1 FROM owners o JOIN near_state n ON n.owner = o.owner AND n.version = o.version WHERE o.owner = ?1 AND n.model = ?2 AND n.ready)`

// askWords asks for the question's words that anything has, and those related to them,
// which have less weight.
func (n *nearing) askWords(asked []string, words *[]word) (q asking, weights map[string]float64) {
	weights = map[string]float64{}
	var all listed
	for _, t := range asked {
		for _, other := range text.Related(t) {
			weights[other] = max(weights[other], relatedWeight)
			all = append(all, other)
		}
	}
	for _, t := range asked {
		weights[t] = 1
		all = append(all, t)
	}
	return n.askTerms(all, words), weights
}

// askTerms asks which terms anything has.
func (n *nearing) askTerms(all listed, words *[]word) asking {
	var queries listed
	for _, t := range all {
		queries = append(queries, lexemes([]string{t}))
	}
	return asking{spreadOf, []any{string(n.owner), n.model, all, queries, nearSample, nearAround}, func(row scanner) error {
		var w word
		var seen, spread int
		err := row.Scan(&w.term, &w.n, &seen, &spread)
		n.found.Whole.Terms[w.term] = max(w.n, w.n*spread/max(1, seen))
		*words = append(*words, w)
		return err
	}}
}

// weigh sets what words are worth, and puts the rarest first.
func weigh(words []word, weights map[string]float64, memories int) {
	for i := range words {
		w := &words[i]
		w.weight = weights[w.term] * math.Log1p(float64(memories)/float64(w.n))
	}
	slices.SortFunc(words, func(a, b word) int { return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.term, b.term)) })
}

// hit is a memory that was found, or a place where a turn may be that is worth as much.
type hit struct {
	memory string // "" for a place
	thread string
	place  int64 // of a turn in it, -1 for another memory
	words  int64 // which of those asked for it has, a bit for each
	score  float64
}

// maxBits is how many words' bits there are; those that are commoner than so many others
// do not say what is read.
const maxBits = 62

const fromNear = ` FROM near WHERE owner = ?1 AND model = ?2`

// look finds the memories that have the most of a question's words, by weight, and those
// that are nearest. If the index gave up before it had enough that the filters let pass,
// they are compared one by one.
func (n *nearing) look(words []word) (byWords, byVector []hit, err error) {
	var asked []asking
	into := func(hits *[]hit) func(row scanner) error {
		return func(row scanner) error {
			var h hit
			err := row.Scan(&h.memory, &h.thread, &h.place, &h.words)
			*hits = append(*hits, h)
			return err
		}
	}
	if len(words) > 0 {
		asked = append(asked, n.wordsQuestion(words))
		asked[0].row = into(&byWords)
	}
	if n.question == "" && asked == nil {
		return nil, nil, nil
	}
	if n.question == "" {
		return byWords, nil, n.together(asked...)
	}
	nearest := n.vectorQuestion()
	nearest.row = into(&byVector)
	if err := n.together(append(asked, nearest)...); err != nil || len(byVector) >= n.nearest() {
		return byWords, byVector, err
	}
	byVector = nil
	return byWords, byVector, n.together(asking{text: `SELECT set_config('enable_indexscan', 'off', true)`}, nearest,
		asking{text: `SELECT set_config('enable_indexscan', 'on', true)`})
}

func (n *nearing) wordsQuestion(words []word) asking {
	var rare []string
	seen := 0
	for _, w := range words {
		if len(rare) > 0 && seen+w.n > nearWords {
			break
		}
		rare, seen = append(rare, w.term), seen+w.n
	}
	query := *n
	query.args = slices.Clone(n.args)
	score, bits := "0::float8", "0::bigint"
	for i, w := range words {
		has := `CASE WHEN words @@ ` + query.argument(lexemes([]string{w.term})) + `::tsquery THEN `
		score += ` + ` + has + query.argument(w.weight) + `::float8 ELSE 0 END`
		if i < maxBits {
			bits += ` + ` + has + strconv.FormatInt(1<<i, 10) + ` ELSE 0 END`
		}
	}
	among := `SELECT memory, thread, place, words` + fromNear + n.filter + ` AND words @@ ` + query.argument(lexemes(rare)) + `::tsquery LIMIT ` + strconv.Itoa(2*nearWords)
	best := `SELECT memory, thread, place, words, ` + score + ` AS score FROM (` + among + `) AS found ORDER BY score DESC, memory LIMIT ` + strconv.Itoa(nearHits*n.limit)
	return asking{text: `SELECT memory, thread, place, ` + bits + ` FROM (` + best + `) AS best ORDER BY score DESC, memory`, args: query.args}
}

// nearest is how many are looked for by vector: as many as the resident index does.
func (n *nearing) nearest() int { return (n.limit + 1) / 2 }

func (n *nearing) vectorQuestion() asking {
	query := *n
	query.args = slices.Clone(n.args)
	typed := `::halfvec(` + strconv.Itoa(n.state.dims) + `)`
	return asking{text: `SELECT memory, thread, place, 0::bigint` + fromNear + n.filter + ` AND vector IS NOT NULL
		ORDER BY (vector` + typed + `) <=> ` + query.argument(n.question) + typed + ` LIMIT ` + strconv.Itoa(n.nearest()), args: query.args}
}

// besides are what a word counts, about, for the turns one, two and three away.
var besides = [nearAround]float64{1. / 3, 1. / 3, 0.15}

// spot is a place where a turn may be.
type spot struct {
	thread string
	place  int64
}

// best returns the memories, and the places of turns, that words count the most for, with
// those of the turns around them, about as the index counts them: to say a word twice is
// worth little more than to say it once.
func best(found []hit, words []word, limit int) []hit {
	said := map[spot]int64{}
	places := map[spot]bool{}
	var all []hit
	for _, h := range found {
		if h.place < 0 {
			for i := range min(len(words), maxBits) {
				h.score += words[i].weight * float64(h.words>>i&1)
			}
			all = append(all, h)
			continue
		}
		said[spot{h.thread, h.place}] |= h.words
		for place := max(0, h.place-nearAround); place <= h.place+nearAround; place++ {
			places[spot{h.thread, place}] = true
		}
	}
	for at := range places {
		all = append(all, hit{thread: at.thread, place: at.place, score: at.score(said, words)})
	}
	slices.SortFunc(all, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.thread, b.thread), cmp.Compare(a.place, b.place), cmp.Compare(a.memory, b.memory))
	})
	return all[:min(limit, len(all))]
}

// score is what words count for a place, where it is known which were said.
func (s spot) score(said map[spot]int64, words []word) (score float64) {
	var window [2*nearAround + 1]int64
	any := int64(0)
	for i := range window {
		window[i] = said[spot{s.thread, s.place + int64(i) - nearAround}]
		any |= window[i]
	}
	for i := range min(len(words), maxBits) {
		if any>>i&1 == 0 {
			continue
		}
		often := float64(window[nearAround] >> i & 1)
		for away, share := range besides {
			often += share * float64(window[nearAround-away-1]>>i&1+window[nearAround+away+1]>>i&1)
		}
		score += words[i].weight * often * 1.9 / (often + 0.9)
	}
	return score
}
