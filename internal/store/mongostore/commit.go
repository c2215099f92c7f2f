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

	"github.com/loci-memory/loci/internal/ownerdata"
	"github.com/loci-memory/loci/internal/retry"
	"github.com/loci-memory/loci/memory"
)

// commitDoc is a commit, with the owner's state after the commit. The collection commits contains
// the last few commits of each owner.
type commitDoc struct {
	ID            string       `bson:"_id"` // owner and seq
	Owner         memory.Owner `bson:"owner"`
	Seq           int64        `bson:"seq"`               // number of the commit among the owner's commits, from 1
	Version       int64        `bson:"version"`           // the owner's version
	LastWrite     time.Time    `bson:"clock"`             // time of the last write
	OldestVersion int64        `bson:"horizon,omitempty"` // oldest version for which Since works
	ErasedAt      time.Time    `bson:"erased"`            // time of the last erasure; zero for none
	TombstoneKey  string       `bson:"secret"`            // key of the tombstones' hashes
	AttemptID     string       `bson:"attempt"`           // random id of the write, also in its parts
	Pending       bool         `bson:"pending"`           // whether documents may still be missing in their collections
}

// maxCommits is the number of latest commits that are stored for each owner. If the database does not answer
// an insert of a commit, the writer looks for its commit among them.
const maxCommits = 8

func (h commitDoc) emptyData() *ownerdata.Data {
	s := &ownerdata.Data{Version: h.Version, LastWrite: h.LastWrite, OldestVersion: h.OldestVersion, ErasedAt: h.ErasedAt, TombstoneKey: h.TombstoneKey}
	return s.Clone() // initializes the maps
}

// docWrite is a document that a commit writes.
type docWrite struct {
	Collection string   `bson:"in"`
	IsNew      bool     `bson:"new"` // whether the document did not exist before
	Doc        bson.Raw `bson:"doc"`
}

// commitPart is a part of a commit's documents, stored before the commit.
type commitPart struct {
	ID        string       `bson:"_id"`
	Owner     memory.Owner `bson:"owner"`
	Seq       int64        `bson:"seq"`
	AttemptID string       `bson:"attempt"`
	Number    int          `bson:"part"` // index of the part in its commit
	Writes    []docWrite   `bson:"ops"`
}

const (
	maxPartBytes = 4 << 20
	// maxDocBytes is MongoDB's limit of 16 MB, less 64 KB for the other fields of a commitPart.
	maxDocBytes = 16<<20 - 64<<10
)

// loadFunc loads the part of an owner's data that a write or a read needs.
type loadFunc func(ctx context.Context, data *ownerdata.Data) error

// write loads a part of the owner's data, calls do with a copy of the data, and commits the changes that
// do made in the copy. If another server wrote meanwhile, write repeats all steps.
func (s *Store) write(ctx context.Context, owner memory.Owner, loadData loadFunc, do func(changed *ownerdata.Data) error) error {
	if err := checkOwner(ctx, owner); err != nil {
		return err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return memory.Errorf(memory.Unavailable, "the store is closed")
	}
	locks := s.lockStripeOf(owner)
	if err := acquireLock(ctx, locks.writeLock.TryLock); err != nil {
		return err
	}
	defer locks.writeLock.Unlock()
	err := retryUnavailable(ctx, retry.WritePatience, func() error {
		for wait := retry.FirstWait; ; wait = min(2*wait, retry.MaxWait) {
			done, err := s.tryWrite(ctx, owner, loadData, do)
			if done || err != nil {
				return err
			}
			if err := retry.Sleep(ctx, wait); err != nil {
				return err
			}
		}
	})
	return s.translate(err)
}

// lockStripe has the locks for the owners with one hash: this process's calls wait instead of conflicting.
type lockStripe struct {
	writeLock  sync.Mutex   // locked during a write
	commitLock sync.RWMutex // locked from a commit until its documents are written
}

// acquireLock waits for a lock until ctx ends: a write keeps its lock while the database is unavailable.
func acquireLock(ctx context.Context, tryLock func() bool) error {
	for wait := 100 * time.Microsecond; !tryLock(); wait = min(2*wait, retry.FirstWait) {
		if err := retry.Sleep(ctx, wait); err != nil {
			return err
		}
	}
	return nil
}

var stripeSeed = maphash.MakeSeed()

func (s *Store) lockStripeOf(owner memory.Owner) *lockStripe {
	return &s.lockStripes[maphash.String(stripeSeed, string(owner))%uint64(len(s.lockStripes))]
}

// tryWrite attempts a write; done is false if another server wrote meanwhile.
func (s *Store) tryWrite(ctx context.Context, owner memory.Owner, loadData loadFunc, do func(*ownerdata.Data) error) (done bool, err error) {
	last, err := s.lastCompletedCommit(ctx, owner)
	if err != nil {
		return false, err
	}
	before := last.emptyData()
	if err := loadData(ctx, before); err != nil {
		return false, err
	}
	changed := before.Clone()
	if err := do(changed); err != nil {
		now, readErr := s.lastCommit(ctx, owner) // if another server changed the data meanwhile, repeat instead of returning err
		return now.Seq == last.Seq && !now.Pending, errors.Join(readErr, errorIfUnchanged(now, last, err))
	}
	ops, err := changedDocs(owner, last.Seq+1, before, changed)
	if err != nil {
		return false, err
	}
	next := commitDoc{
		Owner: owner, Seq: last.Seq + 1, Version: changed.Version, LastWrite: changed.LastWrite, OldestVersion: changed.OldestVersion, ErasedAt: changed.ErasedAt, TombstoneKey: changed.TombstoneKey,
	}
	if len(ops) == 0 && next.Version == last.Version && next.LastWrite.Equal(last.LastWrite) {
		return true, nil
	}
	return s.commit(ctx, last, next, ops)
}

// errorIfUnchanged returns err, or nil if a commit changed the data that the write read.
func errorIfUnchanged(newCommit, oldCommit commitDoc, err error) error {
	if newCommit.Seq != oldCommit.Seq || newCommit.Pending {
		return nil
	}
	return err
}

// commit stores the documents in parts, inserts the commit, and writes the documents to their
// collections. done is false if another server committed first.
func (s *Store) commit(ctx context.Context, previous, newCommit commitDoc, writes []docWrite) (done bool, err error) {
	newCommit.ID, newCommit.AttemptID, newCommit.Pending = fmt.Sprintf("%s %d", newCommit.Owner, newCommit.Seq), rand.Text(), true
	commitParts := splitParts(newCommit, writes)
	for _, p := range commitParts {
		if _, err := s.collection(parts).InsertOne(ctx, p); err != nil {
			return false, fmt.Errorf("store a commit: %w", err)
		}
	}
	s.options.Failpoint()
	// From now on the commit continues even if the caller's context ends.
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), retry.WritePatience)
	defer stop()
	locks := s.lockStripeOf(previous.Owner)
	locks.commitLock.Lock()
	defer locks.commitLock.Unlock()
	err = retryUnavailable(ctx, retry.WritePatience, func() error {
		done, err = s.insertCommit(ctx, newCommit)
		return err
	})
	if err != nil {
		return false, memory.Errorf(memory.Unavailable, "the database server does not answer: the write may have been committed")
	}
	s.options.Failpoint()
	if !done {
		_, err := s.collection(parts).DeleteMany(ctx, bson.M{"attempt": newCommit.AttemptID})
		return false, err
	}
	// After an error, the next read completes the commit.
	if err := s.completeCommit(ctx, newCommit, commitParts); err != nil && s.options.Log != nil {
		s.options.Log.Warn("a commit is stored, but not yet written to its collections", "err", err)
	}
	return true, nil
}

// insertCommit inserts a commit; done is false if another server committed first.
func (s *Store) insertCommit(ctx context.Context, newCommit commitDoc) (done bool, err error) {
	_, err = s.collection(commits).InsertOne(ctx, newCommit)
	if err != nil && !mongo.IsDuplicateKeyError(err) {
		return false, err
	}
	var stored commitDoc // a duplicate key may be this commit, inserted by an attempt without an answer
	if err := s.collection(commits).FindOne(ctx, idFilter(newCommit.ID)).Decode(&stored); err != nil || stored.AttemptID != newCommit.AttemptID {
		if errors.Is(err, mongo.ErrNoDocuments) {
			err = nil
		}
		return false, err
	}
	last, err := s.lastCommit(ctx, newCommit.Owner)
	if err != nil || last.Seq == newCommit.Seq || !stored.Pending {
		return err == nil, err
	}
	// Other servers committed so often that the earlier commit with this seq was deleted already.
	_, err = s.collection(commits).DeleteOne(ctx, bson.M{"_id": newCommit.ID, "attempt": newCommit.AttemptID})
	return false, err
}

func splitParts(newCommit commitDoc, writes []docWrite) []commitPart {
	var out []commitPart
	size := 0
	for _, o := range writes {
		if n := len(out); n == 0 || size+len(o.Doc) > maxPartBytes {
			out, size = append(out, commitPart{ID: fmt.Sprintf("%s/%d", newCommit.AttemptID, n), Owner: newCommit.Owner, Seq: newCommit.Seq, AttemptID: newCommit.AttemptID, Number: n}), 0
		}
		p := &out[len(out)-1]
		p.Writes = append(p.Writes, o)
		size += len(o.Doc)
	}
	return out
}

// completeCommit writes a commit's documents to their collections, and marks the commit as complete. Several
// calls for a commit, even concurrent ones, have the effect of one call.
func (s *Store) completeCommit(ctx context.Context, c commitDoc, commitParts []commitPart) error {
	for _, p := range commitParts {
		in := map[string][]docWrite{}
		for _, o := range p.Writes {
			in[o.Collection] = append(in[o.Collection], o)
		}
		for name, ops := range in {
			if err := retryUnavailable(ctx, retry.WritePatience, func() error { return s.writeDocs(ctx, name, c.Seq, ops) }); err != nil {
				return fmt.Errorf("write to %s: %w", name, err)
			}
			s.options.Failpoint()
		}
	}
	return retryUnavailable(ctx, retry.WritePatience, func() error {
		_, err := s.collection(commits).UpdateOne(ctx, idFilter(c.ID), bson.M{"$set": bson.M{"pending": false}})
		if err != nil {
			return fmt.Errorf("complete a commit: %w", err)
		}
		until := func(seq int64) bson.M {
			return bson.M{"owner": c.Owner, "seq": bson.M{"$lte": seq}}
		}
		if _, err := s.collection(parts).DeleteMany(ctx, until(c.Seq)); err != nil {
			return err
		}
		if c.Seq%maxCommits == 0 {
			_, err = s.collection(commits).DeleteMany(ctx, until(c.Seq-maxCommits))
		}
		return err
	})
}

// writeDocs writes documents, and replaces only documents of lower seqs. It inserts documents that are marked
// IsNew without a look-up; if one exists already, which is rare, a second call replaces it.
func (s *Store) writeDocs(ctx context.Context, collection string, seq int64, writes []docWrite) error {
	models := make([]mongo.WriteModel, len(writes))
	for i, o := range writes {
		filter := bson.M{"_id": o.Doc.Lookup("_id"), "seq": bson.M{"$lt": seq}}
		models[i] = mongo.NewReplaceOneModel().SetFilter(filter).SetReplacement(o.Doc).SetUpsert(true)
		if o.IsNew {
			models[i] = mongo.NewInsertOneModel().SetDocument(o.Doc)
		}
	}
	_, err := s.collection(collection).BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
	var bulk mongo.BulkWriteException
	if !errors.As(err, &bulk) || bulk.WriteConcernError != nil || len(bulk.WriteErrors) == 0 {
		return err
	}
	var existing []docWrite
	for _, e := range bulk.WriteErrors {
		if !mongo.IsDuplicateKeyError(e.WriteError) {
			return err
		}
		if o := writes[e.Index]; o.IsNew { // this or a later commit wrote the document already, or an erasure emptied it
			existing = append(existing, docWrite{Collection: collection, Doc: o.Doc})
		}
	}
	if len(existing) == 0 {
		return nil
	}
	return s.writeDocs(ctx, collection, seq, existing)
}

var highestSeqFirst = options.FindOne().SetSort(sortKeys("-seq"))

// lastCommit reads an owner's last commit. Before the first commit, it returns a commitDoc with seq 0.
func (s *Store) lastCommit(ctx context.Context, owner memory.Owner) (commitDoc, error) {
	var h commitDoc
	err := s.collection(commits).FindOne(ctx, ownerFilter(owner), highestSeqFirst).Decode(&h)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return commitDoc{Owner: owner, TombstoneKey: rand.Text()}, nil
	}
	if err != nil {
		return commitDoc{}, fmt.Errorf("read the owner's last commit: %w", err)
	}
	return h, nil
}

// otherServerTimeout is the time for which another server may complete its commit before this server
// does.
const otherServerTimeout = 500 * time.Millisecond

// lastCompletedCommit waits until an owner's last commit is complete, and returns this commit. After
// otherServerTimeout it completes the commit itself.
func (s *Store) lastCompletedCommit(ctx context.Context, owner memory.Owner) (commitDoc, error) {
	start := time.Now()
	for wait := time.Millisecond; ; wait = min(2*wait, retry.MaxWait) {
		h, err := s.lastCommit(ctx, owner)
		if err != nil || !h.Pending {
			return h, err
		}
		if time.Since(start) < otherServerTimeout {
			if err := retry.Sleep(ctx, wait); err != nil {
				return h, err
			}
			continue
		}
		var pieces []commitPart
		cursor, err := s.collection(parts).Find(ctx, bson.M{"attempt": h.AttemptID}, options.Find().SetSort(sortKeys("part")))
		if err == nil {
			err = cursor.All(ctx, &pieces)
		}
		if err != nil {
			return h, fmt.Errorf("read an abandoned commit: %w", err)
		}
		now, err := s.lastCommit(ctx, owner)
		if err != nil {
			return h, err
		}
		if now.AttemptID != h.AttemptID || !now.Pending { // the commit's writer is still alive
			continue
		}
		if len(pieces) == 0 {
			return h, memory.Errorf(memory.Unavailable, "a pending write of %s is missing in the collection %q: restore the database from a backup", h.Owner, parts)
		}
		if err := s.completeCommit(ctx, h, pieces); err != nil {
			return h, err
		}
	}
}

const (
	// maxReads limits the attempts of a read. An attempt fails if the data changes meanwhile.
	maxReads = 200
	// attemptsBeforeBlock is the number of attempts after which a read blocks this process's commits.
	attemptsBeforeBlock = 3
)

// read loads a part of the owner's data from one snapshot, and calls do with the data.
func (s *Store) read(ctx context.Context, owner memory.Owner, loadData loadFunc, do func(*ownerdata.Data) error) error {
	if err := checkOwner(ctx, owner); err != nil {
		return err
	}
	err := retryUnavailable(ctx, retry.Patience(ctx), func() error {
		for try := range maxReads {
			snapshot, err := s.tryRead(ctx, owner, loadData, try >= attemptsBeforeBlock)
			if err != nil {
				return err
			}
			if snapshot != nil {
				return do(snapshot)
			}
		}
		return memory.Errorf(memory.Unavailable, "the memory of %s is written to too often for a consistent read", owner)
	})
	return s.translate(err)
}

// tryRead loads the data once. It returns nil if the owner's data changed meanwhile.
func (s *Store) tryRead(ctx context.Context, owner memory.Owner, loadData loadFunc, blockCommits bool) (*ownerdata.Data, error) {
	locks := s.lockStripeOf(owner)
	if err := acquireLock(ctx, locks.commitLock.TryRLock); err != nil { // wait until this process's commits are complete
		return nil, err
	}
	if blockCommits {
		defer locks.commitLock.RUnlock()
	} else {
		locks.commitLock.RUnlock()
	}
	h, err := s.lastCompletedCommit(ctx, owner)
	if err != nil {
		return nil, err
	}
	data := h.emptyData()
	if err := loadData(ctx, data); err != nil {
		return nil, err
	}
	now, err := s.lastCommit(ctx, owner)
	if err != nil || now.Seq != h.Seq {
		return nil, err
	}
	return data, nil
}

// changedDocs returns the documents that differ between the old and the changed data of an owner.
func changedDocs(owner memory.Owner, seq int64, old, changed *ownerdata.Data) ([]docWrite, error) {
	d := docCollector{owner: owner, seq: seq, vectors: vectorsOf(changed)}
	for target, image := range changed.States {
		if was, there := old.States[target]; was != image {
			in, doc := stateDoc(d.newHeader(target), image, d.vectors[ownerdata.MemoryID(image)])
			d.add(in, !there, doc)
		}
	}
	for target, image := range old.States {
		if _, there := changed.States[target]; !there {
			in, _ := stateDoc(docHeader{}, image, nil)
			d.add(in, false, d.newHeader(target)) // reads skip a document without an owner
		}
	}
	for id, t := range changed.Turns {
		if was, there := old.Turns[id]; was != t {
			d.add(turns, !there, turnDocOf(d.newHeader("turn:"+id), t, changed, d.vectors[id]))
		}
	}
	for id, c := range changed.Conversations {
		if was, there := old.Conversations[id]; !there || !reflect.DeepEqual(was, c) {
			d.add(conversations, !there, conversationDoc{Header: d.newHeader("conversation:" + id), User: owner.Name(), Conversation: c, CreatedAt: bsonDate(c.CreatedAt), UpdatedAt: bsonDate(c.UpdatedAt)})
		}
	}
	for id, j := range changed.Jobs {
		if was, there := old.Jobs[id]; !there || !reflect.DeepEqual(was, j) {
			d.add(jobs, !there, jobDoc{Header: d.newHeader("job:" + id), Job: j})
		}
	}
	for i, c := range changed.Journal {
		if i >= len(old.Journal) || old.Journal[i] != c {
			d.add(journal, i >= len(old.Journal), changeDoc{Header: d.newHeader("change:" + c.ID), Ordinal: ownerdata.Ordinal(c), Target: hashedTarget(c.After.Target()), Change: c})
		}
	}
	for id, r := range changed.Runs {
		if _, there := old.Runs[id]; !there {
			d.add(runs, true, runDoc{Header: d.newHeader("run:" + id), Owner: owner, Kind: r.Kind, Author: r.Author, Receipt: r.Receipt})
		}
	}
	for turn, mark := range changed.Tombstones {
		if was, there := old.Tombstones[turn]; was != mark {
			d.add(tombstones, !there, tombstoneDoc{Header: d.newHeader("tomb:" + turn), Owner: owner, TurnID: turn, Hash: mark})
		}
	}
	return d.writes, d.err
}

type docCollector struct {
	owner   memory.Owner
	seq     int64
	vectors map[string][]embedding
	writes  []docWrite
	err     error
}

func (d *docCollector) newHeader(target string) docHeader {
	return docHeader{ID: docID(d.owner, target), Seq: d.seq, UserName: d.owner.Name()}
}

func (d *docCollector) add(collection string, isNew bool, doc any) {
	raw, err := marshal(doc)
	if err == nil && len(raw) > maxDocBytes {
		err = errTooLarge
	}
	d.writes, d.err = append(d.writes, docWrite{collection, isNew, raw}), errors.Join(d.err, err)
}
