// Package chroma searches vectors on a Chroma server. The server has only a copy of the store's
// vectors, without texts. A missing copy is rebuilt from the store.
//
// A collection belongs to one embedder. Its records are
//
//	id         OWNER/MEMORY
//	embedding  the vector
//	owner      OWNER
//
// The records of a second collection, NAME-marks, say up to which version of the store an owner's
// vectors are copied:
//
//	id          OWNER
//	embedding   [1]
//	collection  the id of the collection of vectors
//	version     version of the store
//	last        id of the newest memory copied, written at version last_version. A store
//	            without that memory is a different store and is copied again. An empty id
//	            means that the copy is incomplete
//
// The server is updated when a search, or [Index.Warm], finds that an owner's mark is older than
// the store's version. Several Loci processes with one store may share a collection. Collections of
// earlier embedders remain until [Index.DropEarlier]; erasures are applied to them too.
package chroma

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

const (
	// collectionFormat is incremented when the meaning of a collection's content changes.
	collectionFormat = 1
	// writeBatchSize is the maximum number of records per write, and pageSize that of ids per read.
	writeBatchSize, pageSize = 500, 5000
	// followWait is how long a search waits for the latest writes to be copied.
	followWait = 100 * time.Millisecond
	// The pause between attempts to fill a collection doubles from firstFillPause to longestFillPause.
	firstFillPause, longestFillPause = time.Second, time.Minute
)

// Source is the store from which vectors are copied.
type Source interface {
	memory.IndexSource
	Owners(ctx context.Context) ([]memory.Owner, error)
}

// Options are the settings of an [Index].
type Options struct {
	URL        string // URL of the server, such as http://localhost:8000
	Key        string // API key; "" sends none
	Collection string // prefix of the collection's name
	Model      string // Fingerprint of the embedder
	Log        *slog.Logger
}

// Index is a copy of a store's vectors on a server. It is safe for concurrent use.
type Index struct {
	client         *client
	source         Source
	opts           Options
	collectionName string

	ctx                 context.Context // context of background work; stop ends it
	stop                context.CancelFunc
	background          sync.WaitGroup
	fillRequests        chan struct{} // requests to update the copies of all owners
	unconfirmedErasures atomic.Int64  // number of erasures that may not have reached the server

	mu           sync.Mutex                // guards the following fields
	openIDs      collectionIDs             // ids of the collections; zero until they are opened
	marks        map[memory.Owner]metadata // cached marks: how far owners' vectors are copied
	runningSyncs map[memory.Owner]*syncRun
}

// syncRun is an update of an owner's copy in progress.
type syncRun struct {
	done chan struct{}
	err  error // err is set before done is closed
}

// New returns an index, which the caller must close, and starts to fill the server's copy.
func New(source Source, o Options) *Index {
	ctx, stop := context.WithCancel(context.Background())
	x := &Index{
		client: &client{base: strings.TrimRight(o.URL, "/"), key: o.Key, http: &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}},
		source: source, opts: o, collectionName: o.collectionName(o.Model),
		ctx: ctx, stop: stop, fillRequests: make(chan struct{}, 1), marks: map[memory.Owner]metadata{}, runningSyncs: map[memory.Owner]*syncRun{},
	}
	x.requestFill()
	x.background.Go(x.fillLoop)
	if s, ok := source.(interface{ OnErase(func(memory.Owner)) }); ok { // other processes may also write to the store
		s.OnErase(x.onErasure)
	}
	return x
}

// marksSuffix is the suffix of the name of a collection of marks.
const marksSuffix = "-marks"

// collectionName returns the name of an embedder's collection.
func (o Options) collectionName(model string) string {
	sum := sha256.Sum256([]byte(model))
	return o.Collection + "-" + hex.EncodeToString(sum[:6])
}

// Name returns the name of the collection of vectors.
func (x *Index) Name() string { return x.collectionName }

// Close interrupts copying, which the next start continues.
func (x *Index) Close() error {
	x.mu.Lock() // no background work starts after stop
	x.stop()
	x.mu.Unlock()
	x.background.Wait()
	x.client.http.CloseIdleConnections()
	return nil
}

func (x *Index) requestFill() {
	select {
	case x.fillRequests <- struct{}{}:
	default:
	}
}

// fillLoop updates the copies of all owners for each of the fillRequests, and retries after an error.
func (x *Index) fillLoop() {
	for {
		select {
		case <-x.fillRequests:
		case <-x.ctx.Done():
			return
		}
		pause, erasures := firstFillPause, x.unconfirmedErasures.Load()
		for err := x.syncAll(); err != nil; err = x.syncAll() {
			if x.ctx.Err() != nil {
				return
			}
			if pause == firstFillPause {
				x.opts.Log.Warn("the vectors on the Chroma server are not up to date; retrying", "collection", x.collectionName, "err", err)
			}
			select {
			case <-time.After(pause):
			case <-x.ctx.Done():
				return
			}
			pause = min(2*pause, longestFillPause)
		}
		x.unconfirmedErasures.CompareAndSwap(erasures, 0) // if there was another erasure meanwhile, all owners are checked again
		x.opts.Log.Info("the vectors on the Chroma server are up to date", "collection", x.collectionName)
	}
}

func (x *Index) syncAll() error {
	if _, err := x.openCollections(x.ctx); err != nil {
		return err
	}
	owners, err := x.source.Owners(x.ctx)
	if err != nil {
		return err
	}
	for _, owner := range owners {
		s := x.startSync(owner)
		<-s.done
		if s.err != nil {
			return s.err
		}
	}
	return x.removeErased(x.ctx)
}

// collectionIDs are the ids of the collections of vectors and of marks.
type collectionIDs struct{ vectors, marks string }

// openCollections returns the collections, created if missing. It returns [memory.Conflict] for a
// collection that Loci did not create.
func (x *Index) openCollections(ctx context.Context) (collectionIDs, error) {
	x.mu.Lock()
	ids := x.openIDs
	x.mu.Unlock()
	if ids != (collectionIDs{}) {
		return ids, nil
	}
	for _, of := range []struct {
		name string
		id   *string
	}{{x.collectionName, &ids.vectors}, {x.collectionName + marksSuffix, &ids.marks}} {
		is, err := x.client.openOrCreate(ctx, of.name, map[string]any{"loci": collectionFormat, "embedder": x.opts.Model})
		if err != nil {
			return ids, fmt.Errorf("open the collection %s: %w", of.name, err)
		}
		if is.Metadata["loci"] != float64(collectionFormat) || is.Metadata["embedder"] != x.opts.Model {
			return ids, memory.Errorf(memory.Conflict, "the collection %s was not made by this version of Loci (its metadata is %v): delete it, or set chroma.collection", of.name, is.Metadata)
		}
		*of.id = is.ID
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.openIDs = ids
	return ids, nil
}

// handleMissing returns err, except for a missing collection: it then drops the cached ids and
// marks, requests to fill the collections again, and returns [memory.Unavailable].
func (x *Index) handleMissing(err error) error {
	if !errors.Is(err, errNoCollection) {
		return err
	}
	x.mu.Lock()
	x.openIDs = collectionIDs{}
	clear(x.marks)
	x.mu.Unlock()
	x.requestFill()
	return memory.Errorf(memory.Unavailable, "the collection %s is missing on the Chroma server and is being rebuilt", x.collectionName)
}

// startSync starts to update an owner's copy, or returns the update in progress.
func (x *Index) startSync(owner memory.Owner) *syncRun {
	x.mu.Lock()
	defer x.mu.Unlock()
	if s := x.runningSyncs[owner]; s != nil {
		return s
	}
	s := &syncRun{done: make(chan struct{})}
	if s.err = x.ctx.Err(); s.err != nil {
		close(s.done)
		return s
	}
	x.runningSyncs[owner] = s
	x.background.Go(func() {
		err := x.handleMissing(x.followStore(x.ctx, owner))
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.runningSyncs, owner)
		s.err = err
		close(s.done)
	})
	return s
}

// followStore copies the store's changes since the owner's mark, or all vectors if there is no
// valid mark, and updates the mark.
func (x *Index) followStore(ctx context.Context, owner memory.Owner) error {
	ids, err := x.openCollections(ctx)
	if err != nil {
		return err
	}
	previous, err := x.readMark(ctx, ids, owner)
	if err != nil {
		return err
	}
	c := &copyBatch{client: x.client, ctx: ctx, collectionID: ids.vectors, owner: owner, newMark: previous}
	if previous.Version > 0 {
		c.newMark.Version, err = x.source.Since(ctx, owner, x.opts.Model, previous.Version, c.add)
	}
	if previous.Version == 0 || errors.Is(err, memory.Gone) { // the copy may contain erased vectors or belong to another store
		*c = copyBatch{client: x.client, ctx: ctx, collectionID: ids.vectors, owner: owner, newMark: metadata{Collection: ids.vectors}}
		versions, failed := x.source.Versions(ctx, []memory.Owner{owner})
		if failed == nil { // a mark without Last means an incomplete copy
			failed = x.setMark(ctx, ids, owner, metadata{Collection: ids.vectors, Version: versions[0]})
		}
		if failed == nil {
			failed = x.client.delete(ctx, ids.vectors, selection{Where: &metadata{Owner: owner}})
		}
		if failed != nil {
			return failed
		}
		c.newMark.Version, err = x.source.Since(ctx, owner, x.opts.Model, 0, c.add)
	}
	if err == nil {
		err = c.flush()
	}
	if err == nil && c.newMark != previous {
		err = x.setMark(ctx, ids, owner, c.newMark)
	}
	if err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.openIDs == ids {
		x.marks[owner] = c.newMark
	}
	return nil
}

func (x *Index) setMark(ctx context.Context, ids collectionIDs, owner memory.Owner, mark metadata) error {
	return x.client.upsert(ctx, ids.marks, records{IDs: []string{string(owner)}, Embeddings: [][]float32{{1}}, Metadatas: []metadata{mark}})
}

// readMark returns an owner's mark, or the zero value if the owner has no mark that is valid for this
// collection and store.
func (x *Index) readMark(ctx context.Context, ids collectionIDs, owner memory.Owner) (metadata, error) {
	x.mu.Lock()
	mark, cached := x.marks[owner]
	x.mu.Unlock()
	if cached {
		return mark, nil
	}
	found, err := x.client.get(ctx, ids.marks, selection{IDs: []string{string(owner)}, Include: []string{"metadatas"}})
	if err != nil || len(found.Metadatas) != 1 || found.Metadatas[0].Collection != ids.vectors {
		return metadata{}, err
	}
	mark = found.Metadatas[0]
	hasLast := false
	_, err = x.source.Since(ctx, owner, x.opts.Model, max(0, mark.LastVersion-1), func(item memory.IndexItem) error {
		hasLast = hasLast || item.ID == mark.Last
		return nil
	})
	if errors.Is(err, memory.Gone) || err == nil && !hasLast {
		return metadata{}, nil
	}
	return mark, err
}

// copiedVersion returns the version of an owner's copy according to its cached mark, or 0 without a mark.
func (x *Index) copiedVersion(owner memory.Owner) int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.marks[owner].Version
}

// copyBatch collects an owner's changes and sends them to the server in batches.
type copyBatch struct {
	client       *client
	ctx          context.Context
	collectionID string // id of the collection of vectors
	owner        memory.Owner
	newMark      metadata // the owner's mark after these changes
	upserts      records
	deletedIDs   []string
}

func (c *copyBatch) add(item memory.IndexItem) error {
	if item.Version >= c.newMark.LastVersion {
		c.newMark.Last, c.newMark.LastVersion = item.ID, item.Version
	}
	id := recordID(c.owner, item.ID)
	if item.Removed || !isComparable(item.Vector) {
		c.deletedIDs = append(c.deletedIDs, id)
	} else {
		c.upserts.IDs = append(c.upserts.IDs, id)
		c.upserts.Embeddings = append(c.upserts.Embeddings, item.Vector)
		c.upserts.Metadatas = append(c.upserts.Metadatas, metadata{Owner: c.owner})
	}
	if len(c.upserts.IDs)+len(c.deletedIDs) >= writeBatchSize {
		return c.flush()
	}
	return nil
}

func (c *copyBatch) flush() error {
	if len(c.upserts.IDs) > 0 {
		if err := c.client.upsert(c.ctx, c.collectionID, c.upserts); err != nil {
			return err
		}
	}
	if len(c.deletedIDs) > 0 {
		if err := c.client.delete(c.ctx, c.collectionID, selection{IDs: c.deletedIDs}); err != nil {
			return err
		}
	}
	c.upserts, c.deletedIDs = records{}, c.deletedIDs[:0]
	return nil
}

func recordID(owner memory.Owner, id string) string { return string(owner) + "/" + id }

// isComparable reports whether a vector has a cosine: its length is neither 0 nor infinite.
func isComparable(values []float32) bool {
	sum := float64(0)
	for _, x := range values {
		sum += float64(x) * float64(x)
	}
	return sum > 0 && !math.IsInf(sum, 0) && !math.IsNaN(sum)
}

// Warm starts to copy an owner's latest changes.
func (x *Index) Warm(owner memory.Owner) { x.startSync(owner) }

// Drop removes all vectors of an owner from the server after an erasure, also those of earlier embedders, and
// starts to copy the vectors that the store still has. If the server does not answer, it removes the vectors
// later; until then [Index.MayHold] reports them.
func (x *Index) Drop(owner memory.Owner) error {
	ctx, cancel := context.WithTimeout(x.ctx, requestTimeout)
	defer cancel()
	x.mu.Lock()
	runningSync := x.runningSyncs[owner]
	x.mu.Unlock()
	if runningSync != nil { // the running update may have read erased vectors
		select {
		case <-runningSync.done:
		case <-ctx.Done():
		}
	}
	ids, err := x.openCollections(ctx)
	if err == nil {
		err = x.handleMissing(errors.Join(
			x.client.delete(ctx, ids.marks, selection{IDs: []string{string(owner)}}),
			x.client.delete(ctx, ids.vectors, selection{Where: &metadata{Owner: owner}})))
	}
	x.mu.Lock()
	delete(x.marks, owner)
	x.mu.Unlock()
	others, failed := x.earlierCollections(ctx)
	for _, ids := range others {
		failed = errors.Join(failed, x.removeOwner(ctx, ids, owner))
	}
	if err = errors.Join(err, failed); err != nil {
		x.unconfirmedErasures.Add(1)
		x.opts.Log.Warn("the Chroma server still holds erased vectors; they are removed once it answers", "owner", owner, "err", err)
	}
	x.requestFill()
	return nil
}

// MayHold describes the erased data that may still be on the server, nil if there is none.
func (x *Index) MayHold() []string {
	if x.unconfirmedErasures.Load() == 0 {
		return nil
	}
	return []string{"vectors on the Chroma server, which did not answer; they are removed once it does"}
}

// earlierCollections returns the collections of other embedders, by the embedder's fingerprint.
func (x *Index) earlierCollections(ctx context.Context) (map[string]collectionIDs, error) {
	all, err := x.client.list(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the collections of earlier embedders: %w", err)
	}
	ids, others := map[string]string{}, map[string]collectionIDs{}
	for _, c := range all {
		ids[c.Name] = c.ID
	}
	for _, c := range all {
		model, _ := c.Metadata["embedder"].(string)
		if name := x.opts.collectionName(model); c.Name == name && name != x.collectionName && c.Metadata["loci"] == float64(collectionFormat) {
			others[model] = collectionIDs{c.ID, ids[name+marksSuffix]}
		}
	}
	return others, nil
}

// DropEarlier removes the collections of other embedders. If such an embedder is used again, its
// collection is filled again.
func (x *Index) DropEarlier(ctx context.Context) error {
	others, err := x.earlierCollections(ctx)
	for model := range others {
		for _, suffix := range []string{marksSuffix, ""} { // marks first, so that an interrupted removal can be repeated
			failed := x.client.do(ctx, http.MethodDelete, collectionsPath+"/"+x.opts.collectionName(model)+suffix, nil, nil, writeTries)
			if !errors.Is(failed, errNoCollection) {
				err = errors.Join(err, failed)
			}
		}
	}
	return err
}

// removeOwner removes an owner's vectors and then the mark, so that after an interruption the mark
// still shows that vectors may remain.
func (x *Index) removeOwner(ctx context.Context, ids collectionIDs, owner memory.Owner) error {
	err := x.client.delete(ctx, ids.vectors, selection{Where: &metadata{Owner: owner}})
	if err != nil || ids.marks == "" {
		return err
	}
	return x.client.delete(ctx, ids.marks, selection{IDs: []string{string(owner)}})
}

// removeErased removes the vectors of owners with an erasure since their mark from the collections
// of other embedders.
func (x *Index) removeErased(ctx context.Context) error {
	others, err := x.earlierCollections(ctx)
	if err != nil {
		return err
	}
	nothingErased := errors.New("nothing was erased since the mark")
	for model, ids := range others {
		for at, more := 0, ids.marks != ""; more; {
			page, err := x.client.get(ctx, ids.marks, selection{Limit: pageSize, Offset: at, Include: []string{"metadatas"}})
			if err != nil {
				return err
			}
			more = len(page.IDs) == pageSize
			for i, mark := range page.Metadatas[:min(len(page.IDs), len(page.Metadatas))] {
				owner := memory.Owner(page.IDs[i])
				_, err := x.source.Since(ctx, owner, model, mark.Version, func(memory.IndexItem) error { return nothingErased })
				if errors.Is(err, memory.Gone) {
					err = x.removeOwner(ctx, ids, owner)
				} else {
					at++ // no step after a removal, which shifts the following marks
				}
				if err != nil && !errors.Is(err, nothingErased) {
					return err
				}
			}
		}
	}
	return nil
}

// onErasure starts to update an owner's copy after an erasure by another Loci process, or all owners' copies
// for "". It first waits for a running update, which may have read erased vectors.
func (x *Index) onErasure(owner memory.Owner) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ctx.Err() != nil {
		return
	}
	if owner == "" {
		x.requestFill()
		return
	}
	runningSync := x.runningSyncs[owner]
	x.background.Go(func() {
		if runningSync != nil {
			<-runningSync.done
		}
		s := x.startSync(owner)
		if <-s.done; s.err != nil {
			x.requestFill()
		}
	})
}

// Nearest returns the n memories of an owner whose vectors are nearest to a question's vector. If ids is not
// nil, it returns only memories with these ids. Changes of the last moments may be missing.
func (x *Index) Nearest(ctx context.Context, owner memory.Owner, _ string, question []float32, ids []string, n int) ([]memory.Neighbor, error) {
	if !isComparable(question) || n <= 0 || ids != nil && len(ids) == 0 {
		return nil, nil
	}
	versions, err := x.source.Versions(ctx, []memory.Owner{owner})
	if err != nil {
		return nil, err
	}
	if x.copiedVersion(owner) < versions[0] {
		s := x.startSync(owner)
		select {
		case <-s.done:
			if s.err != nil {
				return nil, s.err
			}
		case <-time.After(followWait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	open, err := x.openCollections(ctx)
	if err != nil {
		return nil, err
	}
	var recordIDs []string
	for _, id := range ids {
		recordIDs = append(recordIDs, recordID(owner, id))
	}
	found, distances, err := x.client.query(ctx, open.vectors, question, owner, recordIDs, n)
	if err != nil {
		return nil, x.handleMissing(err)
	}
	near := make([]memory.Neighbor, len(found))
	for i, id := range found {
		near[i] = memory.Neighbor{Owner: owner, ID: strings.TrimPrefix(id, recordID(owner, "")), Cosine: 1 - distances[i]}
	}
	return near, nil
}

// Vectors returns the vectors of an owner's memories by memory id, in the format of [vector.Pack].
func (x *Index) Vectors(ctx context.Context, owner memory.Owner, _ string, ids []string) (map[string][]uint16, error) {
	open, err := x.openCollections(ctx)
	if err != nil {
		return nil, err
	}
	var recordIDs []string
	for _, id := range ids {
		recordIDs = append(recordIDs, recordID(owner, id))
	}
	found, err := x.client.get(ctx, open.vectors, selection{IDs: recordIDs, Include: []string{"embeddings"}})
	if err != nil {
		return nil, x.handleMissing(err)
	}
	byID := map[string][]uint16{}
	for i, id := range found.IDs[:min(len(found.IDs), len(found.Embeddings))] {
		row := make([]uint16, len(found.Embeddings[i]))
		vector.EncodeHalves(row, found.Embeddings[i])
		byID[strings.TrimPrefix(id, recordID(owner, ""))] = vector.Pack(nil, row)
	}
	return byID, nil
}

// Comparison is the result of [Index.Compare].
type Comparison struct {
	Memories       int // number of memories with vectors in the store
	Missing, Extra int // numbers of vectors that are only in the store, and only on the server
}

// Compare compares the server's copy with the store, and copies owners with differences again.
func (x *Index) Compare(ctx context.Context) (c Comparison, err error) {
	open, err := x.openCollections(ctx)
	if err != nil {
		return c, err
	}
	owners, err := x.source.Owners(ctx)
	if err != nil {
		return c, err
	}
	for _, owner := range owners {
		s := x.startSync(owner)
		select {
		case <-s.done:
		case <-ctx.Done():
			return c, ctx.Err()
		}
		if s.err != nil {
			return c, s.err
		}
		want := map[string]bool{}
		if _, err := x.source.Since(ctx, owner, x.opts.Model, 0, func(item memory.IndexItem) error {
			if isComparable(item.Vector) {
				want[recordID(owner, item.ID)] = true
			}
			return nil
		}); err != nil {
			return c, err
		}
		c.Memories += len(want)
		extra, err := x.compareOwner(ctx, open.vectors, owner, want)
		if err != nil {
			return c, x.handleMissing(err)
		}
		if c.Missing, c.Extra = c.Missing+len(want), c.Extra+extra; len(want)+extra > 0 {
			if err := x.Drop(owner); err != nil {
				return c, err
			}
		}
	}
	return c, nil
}

// compareOwner removes the ids on the server from expected, and counts the ids that are only on the
// server.
func (x *Index) compareOwner(ctx context.Context, collectionID string, owner memory.Owner, expected map[string]bool) (extra int, err error) {
	for at := 0; ; at += pageSize {
		page, err := x.client.get(ctx, collectionID, selection{Where: &metadata{Owner: owner}, Limit: pageSize, Offset: at, Include: []string{}})
		if err != nil {
			return 0, err
		}
		for _, id := range page.IDs {
			if !expected[id] {
				extra++
			}
			delete(expected, id)
		}
		if len(page.IDs) < pageSize {
			return extra, nil
		}
	}
}
