// Package mongostore is a [memory.Store] on a MongoDB server. The collections sessions, vectors, summaries and
// memories also have the fields that the programs of an existing chat platform read. Package ownerdata
// implements reads and writes on a [ownerdata.Data], an owner's data in RAM; this package loads the data and
// commits the changes. It does not search: an in-memory index reads changes by Since.
//
// # Writes
//
// Some servers have no transactions, so a commit is one document. A write first stores its changes
// in the collection parts. Then it inserts a document in commits whose _id is the owner and the next
// seq, the number of the owner's commit. This insert is the commit; of two concurrent inserts the
// second fails. Afterwards the writer copies the documents from parts to the other collections, and
// replaces only documents of a lower seq, so that any server can repeat the copying. Then it clears the
// commit's field pending. A server that finds a pending commit of a dead writer first completes it.
//
// If the database does not answer an insert, the writer looks for its commit in commits, which
// contains the last few commits of each owner.
//
// # Reads
//
// A read reads the owner's last commit before and after the data. If the seq rose meanwhile, the
// read starts again. So a read returns all changes of a commit or none.
//
// # Collections
//
// Each index begins with the owner, except the indexes for the next job, for other servers' erasures and
// jobs, and for the traces that show a fact. Times are microseconds since the year 1 in UTC; the chat
// platform's date fields are BSON dates. Package memory defines all other fields.
//
//	sessions    session_id, user_id, created_at, updated_at | title, contexts, rules, project, agent, status
//	vectors     session_id, user_id, message_index, role, content, embedding, timestamp | every turn, with or without
//	            an embedding: id, parent, chain, status, created, recorded, learned, vectors (float16, by model)
//	summaries   session_id, user_id, summaries (one: t, text, message_count, model), created_at
//	memories    user_id, key, value, tokenCount, updated_at | the profile
//	facts       owner, id | fields of memory.Fact; live: the hash, only while the fact is active or pending
//	links, relations, contexts, jobs, runs, journal, tombstones, traces, ledger, api_keys, sign_ins, audit
//	commits     owner, seq, version, clock, horizon, erased, secret, attempt, pending
//	parts       owner, seq, attempt, part, ops | documents of commits that are not copied yet
//	about       one document: format, identity
//
// The messages of a session are its documents in vectors, in order of message_index: a list in one
// document would reach the limit of 16 MB. An erased profile entry leaves an empty document without
// an owner.
package mongostore

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"

	"github.com/loci-memory/loci/memory"
)

// The collections.
const (
	conversations = "sessions"
	turns         = "vectors"
	summaries     = "summaries"
	profile       = "memories"
	facts         = "facts"
	links         = "links"
	relations     = "relations"
	contexts      = "contexts"
	jobs          = "jobs"
	runs          = "runs"
	journal       = "journal"
	tombstones    = "tombstones"
	traces        = "traces"
	ledger        = "ledger"
	apiKeys       = "api_keys"
	audit         = "audit"
	signIns       = "sign_ins"
	commits       = "commits"
	parts         = "parts"
	about         = "about"
)

// Options configures a store. The zero value means the defaults.
type Options struct {
	Now func() time.Time // nil uses the server's clock
	Log *slog.Logger     // receives the server's failures, which users do not see; nil disables the log

	// TraceBytes limits the total size of an owner's traces. SaveTraces removes the oldest traces above
	// the limit. 0 means no limit.
	TraceBytes int64

	Failpoint func() // called at each step of a commit; tests crash the process in the call
}

// Store is a [memory.Store] in a database of a MongoDB server.
type Store struct {
	client      *mongo.Client
	db          *mongo.Database
	options     Options
	serverName  string
	clockOffset atomic.Int64 // server's clock minus this machine's clock, in nanoseconds

	databaseID string

	lockStripes [256]lockStripe // locks by hash of the owner: see [Store.lockStripeOf]
	mu          sync.RWMutex    // read-locked by writers; guards closed
	closed      bool

	erasedMu       sync.Mutex
	eraseListeners []func(memory.Owner) // functions of OnErase; guarded by erasedMu
}

var _ memory.Store = (*Store)(nil)

const (
	// exampleAddress is an example for error messages.
	exampleAddress = "mongodb://user:password@host:27017/database"
	// selectionTimeout is the time for which the driver looks for a server. After this time a call
	// fails and is retried.
	selectionTimeout = 2 * time.Second
	connectTimeout   = 5 * time.Second
	// formatVersion is the version of the documents that this release reads and writes.
	formatVersion = 1
)

// Open opens the store in the database at an address, and creates the database if it is missing.
func Open(ctx context.Context, address string, o Options) (*Store, error) {
	parsed, err := connstring.ParseAndValidate(address)
	if err != nil { // omit err, which may quote the address with the password
		return nil, memory.Errorf(memory.Invalid, "invalid MongoDB address (example: %s)", exampleAddress)
	}
	if parsed.Database == "" {
		return nil, memory.Errorf(memory.Invalid, "the MongoDB address has no database (example: %s)", exampleAddress)
	}
	clientOptions := options.Client().ApplyURI(address).SetRegistry(registry).SetAppName("loci").
		SetReadPreference(readpref.Primary()).SetReadConcern(readconcern.Majority()).SetWriteConcern(writeconcern.Majority())
	if parsed.ServerSelectionTimeout == 0 {
		clientOptions.SetServerSelectionTimeout(selectionTimeout)
	}
	if parsed.ConnectTimeout == 0 {
		clientOptions.SetConnectTimeout(connectTimeout)
	}
	client, err := mongo.Connect(clientOptions)
	if err != nil {
		return nil, memory.Errorf(memory.Invalid, "invalid MongoDB address (example: %s)", exampleAddress)
	}
	if o.Failpoint == nil {
		o.Failpoint = func() {}
	}
	s := &Store{client: client, db: client.Database(parsed.Database), options: o}
	if err := s.prepareDatabase(ctx); err != nil {
		return nil, errors.Join(publicError(err), client.Disconnect(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// aboutDoc is the only document of the collection about.
type aboutDoc struct {
	ID         string `bson:"_id"`
	Format     int    `bson:"format"`            // see formatVersion
	DatabaseID string `bson:"identity"`          // random id of the database
	CopySource string `bson:"copying,omitempty"` // source of an unfinished copy into the database; "" for none
}

const aboutID = "loci"

func (s *Store) prepareDatabase(ctx context.Context) error {
	var server struct {
		Version       string `bson:"version"`
		FerretVersion string `bson:"ferretdbVersion"`
	}
	if err := s.db.RunCommand(ctx, bson.M{"buildInfo": 1}).Decode(&server); err != nil {
		return fmt.Errorf("read the server's version: %w", err)
	}
	if s.serverName = "MongoDB " + server.Version; server.FerretVersion != "" {
		s.serverName = "FerretDB " + server.FerretVersion
	}
	if err := s.measureClock(ctx); err != nil {
		return err
	}
	var stored aboutDoc
	err := s.collection(about).FindOne(ctx, idFilter(aboutID)).Decode(&stored)
	if errors.Is(err, mongo.ErrNoDocuments) {
		for _, collection := range []string{conversations, turns, summaries, profile, commits} {
			if exists, err := s.hasDocuments(ctx, collection); err != nil || exists {
				return cmp.Or(err, memory.Errorf(memory.Conflict, "the database has a collection %q, but no collection %q: use an empty database, or restore the missing collection", collection, about))
			}
		}
		_, err = s.collection(about).InsertOne(ctx, aboutDoc{ID: aboutID, Format: formatVersion, DatabaseID: rand.Text()})
		if err == nil || mongo.IsDuplicateKeyError(err) { // another server is starting too
			err = s.collection(about).FindOne(ctx, idFilter(aboutID)).Decode(&stored)
		}
	}
	if err != nil {
		return fmt.Errorf("read the database's format: %w", err)
	}
	if stored.Format > formatVersion {
		return memory.Errorf(memory.Unavailable, "the database has format %d of a later Loci, and this Loci supports format %d: start the later version", stored.Format, formatVersion)
	}
	for _, collection := range []string{turns, journal} {
		if exists, err := s.hasDocuments(ctx, collection); err != nil || !exists {
			if err != nil {
				return err
			}
			continue
		}
		if exists, err := s.hasDocuments(ctx, commits); err != nil || !exists {
			return cmp.Or(err, memory.Errorf(memory.Unavailable, "the collection %q is missing, and the other collections cannot be read without it: restore the database from a backup", commits))
		}
	}
	s.databaseID = stored.DatabaseID
	return s.createIndexes(ctx)
}

func (s *Store) hasDocuments(ctx context.Context, collection string) (bool, error) {
	err := s.collection(collection).FindOne(ctx, bson.M{}, options.FindOne().SetProjection(idFilter(1))).Err()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return false, nil
	}
	return err == nil, err
}

// createIndexes creates missing indexes.
func (s *Store) createIndexes(ctx context.Context) error {
	for name, indexes := range map[string][]string{
		facts:         {"owner version", "owner status created id", "owner live", "owner provenance.turns", "owner subject attribute"},
		links:         {"owner version", "owner status created id"},
		turns:         {"owner version", "owner session_id message_index", "owner chain", "owner ref", "owner status created id"},
		summaries:     {"owner version", "owner session_id created"},
		conversations: {"owner updated session_id"},
		profile:       {"owner"},
		relations:     {"owner from", "owner to"},
		contexts:      {"owner"},
		jobs:          {"owner state", "state run_at"},
		runs:          {"owner"},
		journal:       {"owner version ordinal", "owner target", "owner run", "owner at", "owner old_id", "owner new_id"},
		tombstones:    {"owner mark"},
		traces:        {"owner at id", "shown"},
		ledger:        {"owner day"},
		audit:         {"owner at id"},
		commits:       {"owner seq", "erased", "pending"},
		parts:         {"owner seq", "attempt"},
	} {
		view := s.collection(name).Indexes()
		existing, err := view.ListSpecifications(ctx)
		if err != nil {
			return fmt.Errorf("read the indexes of %s: %w", name, err)
		}
		var missing []mongo.IndexModel
		for _, fields := range indexes {
			name := strings.ReplaceAll(fields, " ", "_1_") + "_1" // the default name of an index
			if !slices.ContainsFunc(existing, func(i mongo.IndexSpecification) bool { return i.Name == name }) {
				missing = append(missing, mongo.IndexModel{Keys: sortKeys(fields), Options: options.Index().SetName(name)})
			}
		}
		if len(missing) == 0 {
			continue
		}
		if _, err := view.CreateMany(ctx, missing); err != nil {
			return fmt.Errorf("index %s: %w", name, err)
		}
	}
	return nil
}

// sortKeys converts space-separated fields to the keys of an index or a sort; "-" before a field
// means descending.
func sortKeys(fields string) (out bson.D) {
	for _, f := range strings.Fields(fields) {
		name, descending := strings.CutPrefix(f, "-")
		direction := 1
		if descending {
			direction = -1
		}
		out = append(out, bson.E{Key: name, Value: direction})
	}
	return out
}

// measureClock measures the offset of the server's clock from this machine's clock.
func (s *Store) measureClock(ctx context.Context) error {
	var hello struct {
		LocalTime bson.DateTime `bson:"localTime"`
	}
	start := time.Now()
	if err := s.db.RunCommand(ctx, bson.M{"hello": 1}).Decode(&hello); err != nil {
		return fmt.Errorf("read the server's clock: %w", err)
	}
	s.clockOffset.Store(int64(hello.LocalTime.Time().Sub(start.Add(time.Since(start) / 2))))
	return nil
}

func (s *Store) now() time.Time {
	if s.options.Now != nil {
		return s.options.Now()
	}
	return time.Now().Add(time.Duration(s.clockOffset.Load()))
}

func (s *Store) collection(name string) *mongo.Collection { return s.db.Collection(name) }

func idFilter(id any) bson.M { return bson.M{"_id": id} }

// Ping reports whether the server answers.
func (s *Store) Ping(ctx context.Context) error {
	return s.translate(s.client.Ping(ctx, nil))
}

// Description returns the server's name and version for a log.
func (s *Store) Description() string { return s.serverName }

// Identity returns a random id of the database: it is equal for all stores that open the database,
// and different for a new database at the same address.
func (s *Store) Identity() string { return s.databaseID }

// Close waits for writes in progress and disconnects.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	ctx, stop := context.WithTimeout(context.Background(), connectTimeout)
	defer stop()
	return s.client.Disconnect(ctx)
}

func checkOwner(ctx context.Context, owner memory.Owner) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !owner.Valid() {
		return memory.Errorf(memory.Invalid, "invalid owner %q", owner)
	}
	return nil
}
