package index

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Weights of whole-number sums. A posting counts thirds of an occurrence; blending multiplies them
// by shares of 1/60.
const (
	occurrence = 3 // in thirds: a word of the text, a tag or the speaker's name
	dated      = 1 // in thirds: a word of the date
	maxCount   = 255

	ownShare  = 60
	nearShare = 20 // one and two turns away: 20/60
	farShare  = 9  // three turns away: 9/60
	unit      = occurrence * ownShare
)

var shares = [...]int32{nearShare, nearShare, farShare}

// none is a missing document, row or neighbour. offloadedRow is the row of a vector that is stored
// outside the index.
const (
	none = -1
	away = -2
)

// shard is one owner's contents with a lock. Several shards are locked in the order of their
// owners.
type shard struct {
	mu sync.RWMutex // guards contents
	contents
	space space // model and length of the vectors when the owner was loaded
}

// contents are one owner's memories. Documents are numbered in order of arrival, and a number is
// not reused before compaction. The structs have few pointers, so that garbage collection is fast.
type contents struct {
	version int64 // version of the store up to which changes are applied
	steps   int   // changes applied since the last checkpoint
	newest  newest

	offloaded bool // true if vectors are searched outside the index and not stored here

	dims          int  // length of the vectors; 0 before the first vector
	vectorless    int  // number of documents without a vector
	vectorsUnused bool // true if too many documents lack a vector, so that vectors are not used

	docs  []doc
	kinds []kind // 0 for deleted documents
	link  []neighbours
	near  []reach
	olen  []int32 // own length in thirds; 0 also for deleted documents
	blen  []int32 // blended length in units of 1/180 occurrence
	dead  int

	byID            map[key]int32
	odd             map[int32]string // ids that are not UUIDs, by document
	terms           map[string]int32
	pairs           map[rune]*bigrams // by character of a script without spaces; nil if there are no such characters
	posts           [][]uint32        // by term: document << 8 | thirds, ascending
	postingCapacity int               // capacity of all posting lists together

	buffer *postingBuffer // postings that are not in a list yet; nil outside bufferPostings

	threads []thread // turns by conversation number
	convs   names
	names   names // speakers, categories, roles
	scopes  []memory.Scope
	moments []memory.Moment
	tags    map[int32][]string
	expires map[int32]int64 // expiry by document, microseconds since 1970

	chunks   []chunk
	rowDoc   []int32   // document by row; none if the document was deleted
	maxScale float32   // the largest scale of all rows
	floats   []float32 // working memory of writers for one vector
	halves   []uint16  // working memory for the float16 form of that vector

	count [4]int   // number of undeleted documents by kind
	total [4]int64 // sum of their blended lengths by kind
	words [4]int64 // sum of their own lengths by kind
}

// doc has the fields of a memory's candidate, except its measures.
type doc struct {
	id         key
	at, origin int64 // microseconds since 1970
	scope      int32
	thread     int32 // conversation number; none if there is no conversation
	place      int32 // Index of a turn; none for other memories
	speaker    int32
	category   int32
	role       int32
	row        int32 // row of its vector
	dates      int32 // index of its first date in moments
	classes    text.Classes
	sure       float32 // confidence
	marks      memory.Marks
	dated      uint8 // number of its dates in moments
}

type kind uint8

const (
	fact kind = iota + 1
	turn
	summary
)

var kindNames = [...]memory.Kind{fact: memory.KindFact, turn: memory.KindTurn, summary: memory.KindSummary}

type neighbours struct{ prev, next int32 }

// turnList has the turns of a conversation in order.
type thread []int32

// stringTable numbers strings that many documents share.
type names struct {
	list []string
	ids  map[string]int32
}

func (n *names) id(s string) int32 {
	if id, ok := n.ids[s]; ok {
		return id
	}
	if n.ids == nil {
		n.ids = map[string]int32{}
	}
	id := int32(len(n.list))
	s = strings.Clone(s)
	n.list, n.ids[s] = append(n.list, s), id
	return id
}

func newShard() *shard { return &shard{contents: newContents()} }

func newContents() contents {
	return contents{
		byID: map[key]int32{}, odd: map[int32]string{}, terms: map[string]int32{},
		tags: map[int32][]string{}, expires: map[int32]int64{},
	}
}

func (s *contents) apply(item memory.Item) { s.follow(&step{Item: item}) }

func (s *contents) follow(item *step) {
	id := item.ID
	if id == "" {
		id = item.Memory.ID()
	}
	s.steps++
	s.newest.add(item.Version, id)
	s.remove(id)
	if t := item.Memory.Turn; !item.Removed && item.Memory.Content() != "" && (t == nil || t.Tells()) {
		s.add(item.Memory, item.Vector, item.half)
	}
	if s.dead > 256 && s.dead > len(s.docs)/3 {
		s.flushPostings()
		s.compact()
	}
}

// add adds a memory with its vector as vec or as packed float16.
func (s *contents) add(m memory.Memory, vec []float32, half []uint16) {
	n := int32(len(s.docs))
	d, kind, origin := s.describe(m)
	k, uuid := keyOf(m.ID())
	if d.id = k; !uuid {
		s.odd[n] = strings.Clone(m.ID())
	}
	length, marks, classes := s.post(n, m, origin)
	d.marks, d.classes = marks|marksOf(m.Content())|marksOfSubject(m), classes
	d.dates = int32(len(s.moments))
	if marks&(memory.MarkTimes|memory.MarkNumbers) != 0 {
		s.moments = appendMoments(s.moments, m.Content(), origin)
		d.dated = uint8(len(s.moments) - int(d.dates))
	}
	d.row = s.keep(n, vec, half)
	if d.row == none {
		s.vectorless++
	}
	s.docs = append(s.docs, d)
	s.byID[d.id] = n
	s.kinds = append(s.kinds, kind)
	s.link = append(s.link, neighbours{none, none})
	s.near = append(s.near, 0)
	s.olen, s.blen = append(s.olen, length), append(s.blen, 0)
	s.count[kind]++
	s.words[kind] += int64(length)
	if f := m.Fact; f != nil {
		if len(f.Tags) > 0 {
			s.tags[n] = slices.Clone(f.Tags)
		}
		if !f.ExpiresAt.IsZero() {
			s.expires[n] = f.ExpiresAt.UnixMicro()
		}
	}
	if kind == turn {
		s.join(n)
	}
	s.measureAround(n)
}

// newDoc returns a memory's document without words and id, its kind, and the date to which
// relative dates in its text refer.
func (s *contents) describe(m memory.Memory) (doc, kind, time.Time) {
	d := doc{at: m.CreatedAt().UnixMicro(), scope: s.scope(m.Scope()), sure: 1, thread: none, place: none, speaker: none, category: none, row: none}
	origin, conversation, kind := m.CreatedAt(), m.Scope().Conversation, summary
	var role memory.Role
	switch {
	case m.Fact != nil:
		f := m.Fact
		kind, d.at, origin, d.sure = fact, f.UpdatedAt.UnixMicro(), f.ObservedAt, float32(f.Confidence)
		d.speaker, d.category = s.names.id(f.Subject), s.names.id(f.Category)
		if f.Subject == "user" {
			role = memory.RoleUser
		}
		if conversation == "" {
			conversation = f.Provenance.Conversation
		}
	case m.Turn != nil:
		kind, role, d.place = turn, m.Turn.Role, int32(m.Turn.Index)
		d.speaker = s.names.id(m.Turn.Name)
		conversation = m.Turn.Conversation
	}
	d.role = s.names.id(string(role))
	d.origin = origin.UnixMicro()
	if conversation != "" || kind == turn {
		d.thread = s.thread(conversation)
	}
	return d, kind, origin
}

// datesOf returns the dates in a document. Callers must not change them.
func (s *contents) momentsOf(n int32) []memory.Moment {
	d := &s.docs[n]
	if d.dated == 0 {
		return nil
	}
	end := int(d.dates) + int(d.dated)
	return s.moments[d.dates:end:end]
}

func (s *contents) scope(scope memory.Scope) int32 {
	for i := len(s.scopes) - 1; i >= 0 && i >= len(s.scopes)-8; i-- { // most memories share a few scopes
		if s.scopes[i] == scope {
			return int32(i)
		}
	}
	if i := slices.Index(s.scopes, scope); i >= 0 {
		return int32(i)
	}
	s.scopes = append(s.scopes, scope)
	return int32(len(s.scopes) - 1)
}

func (s *contents) thread(conversation string) int32 {
	id := s.convs.id(conversation)
	if int(id) == len(s.threads) {
		s.threads = append(s.threads, nil)
	}
	return id
}

func (s *contents) remove(id string) {
	k, _ := keyOf(id)
	n, ok := s.byID[k]
	if !ok {
		return
	}
	kind := s.kinds[n]
	s.count[kind]--
	s.words[kind] -= int64(s.olen[n])
	s.total[kind] -= int64(s.blen[n])
	s.olen[n], s.blen[n] = 0, 0
	switch row := s.docs[n].row; row {
	case none:
		s.vectorless--
	case away:
	default:
		s.rowDoc[row] = none
	}
	if kind == turn {
		s.leave(n)
	}
	s.kinds[n], s.near[n] = 0, gone
	delete(s.byID, k)
	delete(s.odd, n)
	delete(s.tags, n)
	delete(s.expires, n)
	s.dead++
}
