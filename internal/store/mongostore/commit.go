package mongostore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/maphash"
	"reflect"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/loci-memory/loci/internal/retry"
	"github.com/loci-memory/loci/internal/shelf"
	"github.com/loci-memory/loci/memory"
)

// commitDoc is a commit, with the owner's state after the commit. The collection commits contains
// the last few commits of each owner.
type head struct {
	ID      string       `bson:"_id"` // owner and seq
	Owner   memory.Owner `bson:"owner"`
	Seq     int64        `bson:"seq"` // number of commits
	Version int64        `bson:"version"`
	Clock   time.Time    `bson:"clock"`
	Horizon int64        `bson:"horizon,omitempty"`
	Erased  time.Time    `bson:"erased"`
	Secret  string       `bson:"secret"`
	Attempt string       `bson:"attempt"`
	Pending bool         `bson:"pending"` // whether documents may still be missing in their collections
}

// maxCommits is the number of commits that are stored for each owner: a writer looks for its
// unanswered commit before so many later commits.
const keptCommits = 8

func (h head) shelf() *shelf.Shelf {
	s := &shelf.Shelf{Version: h.Version, At: h.Clock, Horizon: h.Horizon, Erased: h.Erased, Secret: h.Secret}
	return s.Clone() // initializes the maps
}

// docWrite is a document that a commit writes.
type op struct {
	In  string   `bson:"in"`
	New bool     `bson:"new"` // whether the document did not exist before
	Doc bson.Raw `bson:"doc"`
}

// commitPart is a part of a commit's documents, stored before the commit.
type part struct {
	ID      string       `bson:"_id"`
	Owner   memory.Owner `bson:"owner"`
	Seq     int64        `bson:"seq"`
	Attempt string       `bson:"attempt"`
	Part    int          `bson:"part"`
	Ops     []op         `bson:"ops"`
}

const (
	partSize = 4 << 20
	// maxDocBytes is MongoDB's limit of 16 MB, less 64 KB for the other fields of a commitPart.
	maxDocument = 16<<20 - 64<<10
)

// loadFunc loads the part of an owner's data that a write or a read needs.
type load func(ctx context.Context, s *shelf.Shelf) error

// write loads a part of the owner's data, calls do with a copy, and commits the changes in the copy.
// If another server wrote meanwhile, write repeats all steps.
func (s *Store) write(ctx context.Context, owner memory.Owner, from load, do func(draft *shelf.Shelf) error) error {
	if err := checkOwner(ctx, owner); err != nil {
		return err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return memory.Errorf(memory.Unavailable, "the store is closed")
	}
	mine := s.stripe(owner)
	if err := acquire(ctx, mine.write.TryLock); err != nil {
		return err
	}
	defer mine.write.Unlock()
	err := persist(ctx, retry.WritePatience, func() error {
		for wait := retry.FirstWait; ; wait = min(2*wait, retry.LongestWait) {
			done, err := s.tryWrite(ctx, owner, from, do)
			if done || err != nil {
				return err
			}
			if err := retry.Pause(ctx, wait); err != nil {
				return err
			}
		}
	})
	return s.translate(err)
}

// stripe has this process's locks for some owners, so that its calls rarely conflict.
type stripe struct {
	write  sync.Mutex   // locked during a write
	commit sync.RWMutex // locked from a commit until its documents are written
}

// acquireLock waits for a lock until ctx ends: the lock may be locked as long as the server is
// unavailable.
func acquire(ctx context.Context, try func() bool) error {
	for wait := 100 * time.Microsecond; !try(); wait = min(2*wait, retry.FirstWait) {
		if err := retry.Pause(ctx, wait); err != nil {
			return err
		}
	}
	return nil
}

var stripeSeed = maphash.MakeSeed()

func (s *Store) stripe(owner memory.Owner) *stripe {
	return &s.stripes[maphash.String(stripeSeed, string(owner))%uint64(len(s.stripes))]
}

// tryWrite attempts a write; done is false if another server wrote meanwhile.
func (s *Store) tryWrite(ctx context.Context, owner memory.Owner, from load, do func(*shelf.Shelf) error) (done bool, err error) {
	was, err := s.settled(ctx, owner)
	if err != nil {
		return false, err
	}
	before := was.shelf()
	if err := from(ctx, before); err != nil {
		return false, err
	}
	draft := before.Clone()
	if err := do(draft); err != nil {
		now, again := s.head(ctx, owner) // an error after an inconsistent read is ignored
		return now.Seq == was.Seq && !now.Pending, errors.Join(again, ifSame(now, was, err))
	}
	ops, err := diff(owner, was.Seq+1, before, draft)
	if err != nil {
		return false, err
	}
	next := head{
		Owner: owner, Seq: was.Seq + 1, Version: draft.Version, Clock: draft.At, Horizon: draft.Horizon, Erased: draft.Erased, Secret: draft.Secret,
	}
	if len(ops) == 0 && next.Version == was.Version && next.Clock.Equal(was.Clock) {
		return true, nil
	}
	return s.commit(ctx, was, next, ops)
}

// errorIfUnchanged returns err, or nil if a commit changed the data that the write read.
func ifSame(now, was head, err error) error {
	if now.Seq != was.Seq || now.Pending {
		return nil
	}
	return err
}

// commit stores the documents in parts, inserts the commit, and writes the documents to their
// collections. done is false if another server committed first.
func (s *Store) commit(ctx context.Context, was, next head, ops []op) (done bool, err error) {
	next.ID, next.Attempt, next.Pending = fmt.Sprintf("%s %d", next.Owner, next.Seq), rand.Text(), true
	pieces := cutParts(next, ops)
	for _, p := range pieces {
		if _, err := s.in(parts).InsertOne(ctx, p); err != nil {
			return false, fmt.Errorf("store a commit: %w", err)
		}
	}
	s.options.Point()
	// From here the commit continues even if the caller's context ends.
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), retry.WritePatience)
	defer stop()
	mine := s.stripe(was.Owner)
	mine.commit.Lock()
	defer mine.commit.Unlock()
	err = persist(ctx, retry.WritePatience, func() error {
		done, err = s.insert(ctx, next)
		return err
	})
	if err != nil {
		return false, memory.Errorf(memory.Unavailable, "the database server does not answer: the write may have been committed")
	}
	s.options.Point()
	if !done {
		_, err := s.in(parts).DeleteMany(ctx, bson.M{"attempt": next.Attempt})
		return false, err
	}
	// If this fails, the next read completes the commit.
	if err := s.settle(ctx, next, pieces); err != nil && s.options.Log != nil {
		s.options.Log.Warn("a commit is stored, but not yet written to its collections", "err", err)
	}
	return true, nil
}

// insert inserts a commit; done is false if another server committed first.
func (s *Store) insert(ctx context.Context, next head) (done bool, err error) {
	_, err = s.in(commits).InsertOne(ctx, next)
	if err != nil && !mongo.IsDuplicateKeyError(err) {
		return false, err
	}
	var there head // after a duplicate key: perhaps an earlier, unanswered attempt of this commit
	if err := s.in(commits).FindOne(ctx, byID(next.ID)).Decode(&there); err != nil || there.Attempt != next.Attempt {
		if errors.Is(err, mongo.ErrNoDocuments) {
			err = nil
		}
		return false, err
	}
	last, err := s.head(ctx, next.Owner)
	if err != nil || last.Seq == next.Seq || !there.Pending {
		return err == nil, err
	}
	// The seq was free only because its old commit had been removed, after many later commits.
	_, err = s.in(commits).DeleteOne(ctx, bson.M{"_id": next.ID, "attempt": next.Attempt})
	return false, err
}

func cutParts(next head, ops []op) []part {
	var all []part
	size := 0
	for _, o := range ops {
		if n := len(all); n == 0 || size+len(o.Doc) > partSize {
			all, size = append(all, part{ID: fmt.Sprintf("%s/%d", next.Attempt, n), Owner: next.Owner, Seq: next.Seq, Attempt: next.Attempt, Part: n}), 0
		}
		p := &all[len(all)-1]
		p.Ops = append(p.Ops, o)
		size += len(o.Doc)
	}
	return all
}

// complete writes a commit's documents to their collections, and marks the commit as complete. It
// may run repeatedly and concurrently.
func (s *Store) settle(ctx context.Context, of head, pieces []part) error {
	for _, p := range pieces {
		in := map[string][]op{}
		for _, o := range p.Ops {
			in[o.In] = append(in[o.In], o)
		}
		for name, ops := range in {
			if err := persist(ctx, retry.WritePatience, func() error { return s.put(ctx, name, of.Seq, ops) }); err != nil {
				return fmt.Errorf("write to %s: %w", name, err)
			}
			s.options.Point()
		}
	}
	return persist(ctx, retry.WritePatience, func() error {
		_, err := s.in(commits).UpdateOne(ctx, byID(of.ID), bson.M{"$set": bson.M{"pending": false}})
		if err != nil {
			return fmt.Errorf("complete a commit: %w", err)
		}
		until := func(seq int64) bson.M {
			return bson.M{"owner": of.Owner, "seq": bson.M{"$lte": seq}}
		}
		if _, err := s.in(parts).DeleteMany(ctx, until(of.Seq)); err != nil {
			return err
		}
		if of.Seq%keptCommits == 0 {
			_, err = s.in(commits).DeleteMany(ctx, until(of.Seq-keptCommits))
		}
		return err
	})
}

// writeDocs writes documents over documents of lower seqs. It inserts new documents without a
// look-up, since they rarely exist.
func (s *Store) put(ctx context.Context, in string, seq int64, ops []op) error {
	models := make([]mongo.WriteModel, len(ops))
	for i, o := range ops {
		filter := bson.M{"_id": o.Doc.Lookup("_id"), "seq": bson.M{"$lt": seq}}
		models[i] = mongo.NewReplaceOneModel().SetFilter(filter).SetReplacement(o.Doc).SetUpsert(true)
		if o.New {
			models[i] = mongo.NewInsertOneModel().SetDocument(o.Doc)
		}
	}
	_, err := s.in(in).BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
	var bulk mongo.BulkWriteException
	if !errors.As(err, &bulk) || bulk.WriteConcernError != nil || len(bulk.WriteErrors) == 0 {
		return err
	}
	var there []op
	for _, e := range bulk.WriteErrors {
		if !mongo.IsDuplicateKeyError(e.WriteError) {
			return err
		}
		if o := ops[e.Index]; o.New { // this or a later commit wrote the document, or an erasure left it
			there = append(there, op{In: in, Doc: o.Doc})
		}
	}
	if len(there) == 0 {
		return nil
	}
	return s.put(ctx, in, seq, there)
}

var lastFirst = options.FindOne().SetSort(keys("-seq"))

// lastCommit reads an owner's last commit. Before the first commit, it returns a commitDoc with seq 0.
func (s *Store) head(ctx context.Context, owner memory.Owner) (head, error) {
	var h head
	err := s.in(commits).FindOne(ctx, ofOwner(owner), lastFirst).Decode(&h)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return head{Owner: owner, Secret: rand.Text()}, nil
	}
	if err != nil {
		return head{}, fmt.Errorf("read the owner's last commit: %w", err)
	}
	return h, nil
}

// otherServerTimeout is the time for which another server may complete its commit before this server
// does.
const patienceWithOthers = 500 * time.Millisecond

// lastCompleted waits until an owner's last commit is complete, and returns it. It completes an
// abandoned commit.
func (s *Store) settled(ctx context.Context, owner memory.Owner) (head, error) {
	start := time.Now()
	for wait := time.Millisecond; ; wait = min(2*wait, retry.LongestWait) {
		h, err := s.head(ctx, owner)
		if err != nil || !h.Pending {
			return h, err
		}
		if time.Since(start) < patienceWithOthers {
			if err := retry.Pause(ctx, wait); err != nil {
				return h, err
			}
			continue
		}
		var pieces []part
		found, err := s.in(parts).Find(ctx, bson.M{"attempt": h.Attempt}, options.Find().SetSort(keys("part")))
		if err == nil {
			err = found.All(ctx, &pieces)
		}
		if err != nil {
			return h, fmt.Errorf("read an abandoned commit: %w", err)
		}
		now, err := s.head(ctx, owner)
		if err != nil {
			return h, err
		}
		if now.Attempt != h.Attempt || !now.Pending { // the commit's writer is still alive
			continue
		}
		if len(pieces) == 0 {
			return h, memory.Errorf(memory.Unavailable, "a pending write of %s is missing in the collection %q: restore the database from a backup", h.Owner, parts)
		}
		if err := s.settle(ctx, h, pieces); err != nil {
			return h, err
		}
	}
}

const (
	// maxReads limits the attempts of a read that writes disturb.
	maxReads = 200
	// politeReads is the number of attempts before a read blocks commits of this process.
	politeReads = 3
)

// read loads a part of the owner's data from one snapshot, and calls do with the data.
func (s *Store) read(ctx context.Context, owner memory.Owner, from load, do func(*shelf.Shelf) error) error {
	if err := checkOwner(ctx, owner); err != nil {
		return err
	}
	err := persist(ctx, retry.Patience(ctx), func() error {
		for try := range maxReads {
			at, err := s.tryRead(ctx, owner, from, try >= politeReads)
			if err != nil {
				return err
			}
			if at != nil {
				return do(at)
			}
		}
		return memory.Errorf(memory.Unavailable, "the memory of %s is written to too often for a consistent read", owner)
	})
	return s.translate(err)
}

// tryRead loads the data once. It returns nil if the owner's data changed meanwhile.
func (s *Store) tryRead(ctx context.Context, owner memory.Owner, from load, hold bool) (*shelf.Shelf, error) {
	mine := s.stripe(owner)
	if err := acquire(ctx, mine.commit.TryRLock); err != nil { // waits until commits of this process are complete
		return nil, err
	}
	if hold {
		defer mine.commit.RUnlock()
	} else {
		mine.commit.RUnlock()
	}
	h, err := s.settled(ctx, owner)
	if err != nil {
		return nil, err
	}
	at := h.shelf()
	if err := from(ctx, at); err != nil {
		return nil, err
	}
	now, err := s.head(ctx, owner)
	if err != nil || now.Seq != h.Seq {
		return nil, err
	}
	return at, nil
}

// changedDocs returns the documents that differ between the old and the changed data of an owner.
func diff(owner memory.Owner, seq int64, before, draft *shelf.Shelf) ([]op, error) {
	d := differ{owner: owner, seq: seq, vectors: vectorsOf(draft)}
	for target, image := range draft.Things {
		if was, there := before.Things[target]; was != image {
			in, doc := imageDoc(d.header(target), image, d.vectors[shelf.MemoryID(image)])
			d.add(in, !there, doc)
		}
	}
	for target, image := range before.Things {
		if _, there := draft.Things[target]; !there {
			in, _ := imageDoc(header{}, image, nil)
			d.add(in, false, d.header(target)) // reads filter by owner and ignore a document without one
		}
	}
	for id, t := range draft.Turns {
		if was, there := before.Turns[id]; was != t {
			d.add(turns, !there, turnDocOf(d.header("turn:"+id), t, draft, d.vectors[id]))
		}
	}
	for id, c := range draft.Conversations {
		if was, there := before.Conversations[id]; !there || !reflect.DeepEqual(was, c) {
			d.add(conversations, !there, conversationDoc{Header: d.header("conversation:" + id), User: owner.Name(), Conversation: c, CreatedAt: date(c.CreatedAt), UpdatedAt: date(c.UpdatedAt)})
		}
	}
	for id, j := range draft.Jobs {
		if was, there := before.Jobs[id]; !there || !reflect.DeepEqual(was, j) {
			d.add(jobs, !there, jobDoc{Header: d.header("job:" + id), Job: j})
		}
	}
	for i, c := range draft.Journal {
		if i >= len(before.Journal) || before.Journal[i] != c {
			d.add(journal, i >= len(before.Journal), changeDoc{Header: d.header("change:" + c.ID), Ordinal: shelf.Ordinal(c), Target: targetKey(c.After.Target()), Change: c})
		}
	}
	for id, r := range draft.Runs {
		if _, there := before.Runs[id]; !there {
			d.add(runs, true, runDoc{Header: d.header("run:" + id), Owner: owner, Kind: r.Kind, Author: r.Author, Receipt: r.Receipt})
		}
	}
	for turn, mark := range draft.Tombs {
		if was, there := before.Tombs[turn]; was != mark {
			d.add(tombstones, !there, tombDoc{Header: d.header("tomb:" + turn), Owner: owner, Turn: turn, Mark: mark})
		}
	}
	return d.ops, d.err
}

type differ struct {
	owner   memory.Owner
	seq     int64
	vectors map[string][]embedding
	ops     []op
	err     error
}

func (d *differ) header(target string) header {
	return header{Key: keyOf(d.owner, target), Seq: d.seq, Of: d.owner.Name()}
}

func (d *differ) add(in string, isNew bool, doc any) {
	raw, err := marshal(doc)
	if err == nil && len(raw) > maxDocument {
		err = errTooLarge
	}
	d.ops, d.err = append(d.ops, op{in, isNew, raw}), errors.Join(d.err, err)
}
