package index

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Counts of terms are whole numbers: a posting counts thirds of an occurrence. A blended count is the sum of
// a document's and its neighbours' counts, each multiplied by a share in units of 1/60.
const (
	wordWeight     = 3   // weight of a word in the text, a tag or the speaker's name: 3 thirds
	dateWordWeight = 1   // weight of a word of the date: 1 third
	maxCount       = 255 // largest count of a posting, in thirds

	ownShare    = 60
	nearShare   = 20 // share of the turns at distances 1 and 2: 20/60
	farShare    = 9  // share of the turns at distance 3: 9/60
	blendedUnit = wordWeight * ownShare
)

var neighbourShares = [...]int32{nearShare, nearShare, farShare}

// none is the number of a missing document, row, neighbour or string. offloadedRow is the row of a
// vector that is stored outside the index.
const (
	none         = -1
	offloadedRow = -2
)

// shard is the contents of one owner with a lock. Lock several shards in the order of their owners.
type shard struct {
	mu sync.RWMutex // guards the contents
	contents
	vectorSpace vectorSpace // model and length of the vectors when the owner was loaded
}

// contents are the indexed memories (documents) of one owner. Documents are numbered in the order of
// adding, and a number is not reused before compaction. Most fields are slices by document number, with
// few pointers, so that garbage collection is fast.
type contents struct {
	version        int64 // version of the store up to which changes are applied
	unsavedChanges int   // changes applied since the last checkpoint
	newest         newestVersion

	offloaded bool // true if vectors are searched outside the index and not stored here

	dims            int  // length of the vectors; 0 before the first vector
	vectorlessCount int  // number of documents without a vector
	ignoresVectors  bool // true if too many documents lack a vector, so that vectors are not used

	docs           []doc
	kinds          []kind // 0 for deleted documents
	links          []neighbours
	reaches        []reach
	ownLengths     []int32 // own length in thirds; 0 also for deleted documents
	blendedLengths []int32 // blended length in units of 1/180 occurrence
	deletedCount   int

	docByID          map[idKey]int32
	textIDs          map[int32]string // ids that are not UUIDs, by document
	terms            map[string]int32
	termsByCharacter map[rune]*characterTerms // by character of a script without spaces; nil if there are no such characters
	postings         [][]uint32               // by term: document << 8 | thirds, ascending
	postingCapacity  int                      // capacity of all posting lists together

	pendingPostings *postingBuffer // postings not yet in postings; nil except between bufferPostings and flushPostings

	conversationTurns []turnList // turns by conversation number
	conversations     stringTable
	labels            stringTable // speakers, categories, roles
	scopes            []memory.Scope
	mentionedDates    []memory.PartialDate
	tagsByDoc         map[int32][]string
	expiryMicros      map[int32]int64 // expiry by document, microseconds since 1970

	chunks      []chunk
	docByRow    []int32   // document by row; none if the document was deleted
	maxScale    float32   // largest scale of the int8 rows
	floatBuffer []float32 // working memory of writers for one vector
	halfBuffer  []uint16  // working memory of writers for the float16 form of one vector

	kindCounts    [4]int   // number of undeleted documents by kind
	blendedTotals [4]int64 // sum of the blended lengths of undeleted documents by kind
	ownTotals     [4]int64 // sum of the own lengths of undeleted documents by kind
}

// doc has the fields of a memory that filters and candidates need.
type doc struct {
	id                          idKey
	updatedMicros, statedMicros int64 // times of the last update and of the statement, microseconds since 1970
	scope                       int32
	conversation                int32 // conversation number; none if there is no conversation
	turnIndex                   int32 // the turn's Index; none for other memories
	speaker                     int32
	category                    int32
	role                        int32
	row                         int32 // row of the memory's vector in chunks; none or offloadedRow if it is not there
	firstDate                   int32 // index of the memory's first date in mentionedDates
	classes                     text.Classes
	confidence                  float32 // confidence of a fact; 1 for other memories
	flags                       memory.TextFlags
	dateCount                   uint8 // number of the memory's dates in mentionedDates
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
type turnList []int32

// stringTable numbers strings that many documents share.
type stringTable struct {
	list    []string
	numbers map[string]int32
}

func (n *stringTable) intern(s string) int32 {
	if id, ok := n.numbers[s]; ok {
		return id
	}
	if n.numbers == nil {
		n.numbers = map[string]int32{}
	}
	id := int32(len(n.list))
	s = strings.Clone(s)
	n.list, n.numbers[s] = append(n.list, s), id
	return id
}

func newShard() *shard { return &shard{contents: newContents()} }

func newContents() contents {
	return contents{
		docByID: map[idKey]int32{}, textIDs: map[int32]string{}, terms: map[string]int32{},
		tagsByDoc: map[int32][]string{}, expiryMicros: map[int32]int64{},
	}
}

func (s *contents) apply(item memory.IndexItem) { s.applyItemChange(&itemChange{IndexItem: item}) }

func (s *contents) applyItemChange(change *itemChange) {
	id := change.ID
	if id == "" {
		id = change.Memory.ID()
	}
	s.unsavedChanges++
	s.newest.addID(change.Version, id)
	s.remove(id)
	if t := change.Memory.Turn; !change.Removed && change.Memory.Content() != "" && (t == nil || t.Informative()) {
		s.add(change.Memory, change.Vector, change.packedVector)
	}
	if s.deletedCount > 256 && s.deletedCount > len(s.docs)/3 {
		s.flushPostings()
		s.compact()
	}
}

// add adds a memory with its vector as vec or as packed float16.
func (s *contents) add(m memory.Memory, vec []float32, packed []uint16) {
	n := int32(len(s.docs))
	d, kind, statedAt := s.newDoc(m)
	k, uuid := keyOf(m.ID())
	if d.id = k; !uuid {
		s.textIDs[n] = strings.Clone(m.ID())
	}
	length, flags, classes := s.indexText(n, m, statedAt)
	d.flags, d.classes = flags|textFlags(m.Content())|subjectFlags(m), classes
	d.firstDate = int32(len(s.mentionedDates))
	if flags&(memory.FlagTime|memory.FlagNumber) != 0 {
		s.mentionedDates = appendDates(s.mentionedDates, m.Content(), statedAt)
		d.dateCount = uint8(len(s.mentionedDates) - int(d.firstDate))
	}
	d.row = s.storeVector(n, vec, packed)
	if d.row == none {
		s.vectorlessCount++
	}
	s.docs = append(s.docs, d)
	s.docByID[d.id] = n
	s.kinds = append(s.kinds, kind)
	s.links = append(s.links, neighbours{none, none})
	s.reaches = append(s.reaches, 0)
	s.ownLengths, s.blendedLengths = append(s.ownLengths, length), append(s.blendedLengths, 0)
	s.kindCounts[kind]++
	s.ownTotals[kind] += int64(length)
	if f := m.Fact; f != nil {
		if len(f.Tags) > 0 {
			s.tagsByDoc[n] = slices.Clone(f.Tags)
		}
		if !f.ExpiresAt.IsZero() {
			s.expiryMicros[n] = f.ExpiresAt.UnixMicro()
		}
	}
	if kind == turn {
		s.insertTurn(n)
	}
	s.updateLengthsAround(n)
}

// newDoc returns a memory's document without words and id, its kind, and the date when the text was
// stated, to which relative dates in the text refer.
func (s *contents) newDoc(m memory.Memory) (doc, kind, time.Time) {
	d := doc{updatedMicros: m.CreatedAt().UnixMicro(), scope: s.scopeNumber(m.Scope()), confidence: 1, conversation: none, turnIndex: none, speaker: none, category: none, row: none}
	statedAt, conversation, kind := m.CreatedAt(), m.Scope().Conversation, summary
	var role memory.Role
	switch {
	case m.Fact != nil:
		f := m.Fact
		kind, d.updatedMicros, statedAt, d.confidence = fact, f.UpdatedAt.UnixMicro(), f.ObservedAt, float32(f.Confidence)
		d.speaker, d.category = s.labels.intern(f.Subject), s.labels.intern(f.Category)
		if f.Subject == "user" {
			role = memory.RoleUser
		}
		if conversation == "" {
			conversation = f.Provenance.Conversation
		}
	case m.Turn != nil:
		kind, role, d.turnIndex = turn, m.Turn.Role, int32(m.Turn.Index)
		d.speaker = s.labels.intern(m.Turn.Name)
		conversation = m.Turn.Conversation
	}
	d.role = s.labels.intern(string(role))
	d.statedMicros = statedAt.UnixMicro()
	if conversation != "" || kind == turn {
		d.conversation = s.conversationNumber(conversation)
	}
	return d, kind, statedAt
}

// datesOf returns the dates that a document's text mentions. Callers must not change the slice.
func (s *contents) datesOf(n int32) []memory.PartialDate {
	d := &s.docs[n]
	if d.dateCount == 0 {
		return nil
	}
	end := int(d.firstDate) + int(d.dateCount)
	return s.mentionedDates[d.firstDate:end:end]
}

func (s *contents) scopeNumber(scope memory.Scope) int32 {
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

func (s *contents) conversationNumber(conversation string) int32 {
	id := s.conversations.intern(conversation)
	if int(id) == len(s.conversationTurns) {
		s.conversationTurns = append(s.conversationTurns, nil)
	}
	return id
}

func (s *contents) remove(id string) {
	k, _ := keyOf(id)
	n, ok := s.docByID[k]
	if !ok {
		return
	}
	kind := s.kinds[n]
	s.kindCounts[kind]--
	s.ownTotals[kind] -= int64(s.ownLengths[n])
	s.blendedTotals[kind] -= int64(s.blendedLengths[n])
	s.ownLengths[n], s.blendedLengths[n] = 0, 0
	switch row := s.docs[n].row; row {
	case none:
		s.vectorlessCount--
	case offloadedRow:
	default:
		s.docByRow[row] = none
	}
	if kind == turn {
		s.removeTurn(n)
	}
	s.kinds[n], s.reaches[n] = 0, reachDeleted
	delete(s.docByID, k)
	delete(s.textIDs, n)
	delete(s.tagsByDoc, n)
	delete(s.expiryMicros, n)
	s.deletedCount++
}
