package mongostore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/loci-memory/loci/internal/ownerdata"
	"github.com/loci-memory/loci/memory"
)

// This file stores usage, API keys, sign-ins and the audit log, which need no commits.

// AddUsage adds to the usage: see [memory.Ledger].
func (s *Store) AddUsage(ctx context.Context, owner memory.Owner, u memory.Usage) error {
	if err := u.Check(); err != nil {
		return err
	}
	if err := checkOwner(ctx, owner); err != nil {
		return err
	}
	day := memory.StartOfDay(u.Day)
	change := bson.M{
		"$set": bson.M{"owner": owner, "day": day, "purpose": u.Purpose, "model": u.Model},
		"$inc": bson.M{"calls": u.Calls, "input_tokens": u.InputTokens, "output_tokens": u.OutputTokens, "cost": u.Cost},
	}
	key := idFilter(docID(owner, fmt.Sprintf("spent:%s:%q:%q", day.Format(time.DateOnly), u.Purpose, u.Model)))
	for {
		_, err := s.collection(ledger).UpdateOne(ctx, key, change, options.UpdateOne().SetUpsert(true))
		if !mongo.IsDuplicateKeyError(err) { // retry if another call created the document concurrently
			return s.translate(err)
		}
	}
}

// UsageSince returns the usage since a day: see [memory.Ledger].
func (s *Store) UsageSince(ctx context.Context, owner memory.Owner, from time.Time) (out []memory.Usage, err error) {
	if err := checkOwner(ctx, owner); err != nil {
		return nil, err
	}
	filter := bson.M{"owner": owner, "day": bson.M{"$gte": memory.StartOfDay(from)}}
	inOrder := options.Find().SetSort(sortKeys("day purpose model"))
	err = forEach(ctx, s, ledger, filter, inOrder, func(u *memory.Usage) bool { out = append(out, *u); return true })
	return out, s.translate(err)
}

var (
	_ memory.Keys     = (*Store)(nil)
	_ memory.Sessions = (*Store)(nil)
)

type keyDoc struct {
	ID        string     `bson:"_id"` // namespace and hash
	Namespace string     `bson:"namespace"`
	Key       memory.Key `bson:",inline"`
}

// AddKey stores an API key: see [memory.Keys].
func (s *Store) AddKey(ctx context.Context, namespace string, key memory.Key) error {
	_, err := s.collection(apiKeys).InsertOne(ctx, keyDoc{namespace + " " + key.Hash, namespace, key})
	if mongo.IsDuplicateKeyError(err) {
		return memory.Errorf(memory.Conflict, "the key exists already")
	}
	return s.translate(err)
}

// Keys returns the keys of a namespace: see [memory.Keys].
func (s *Store) Keys(ctx context.Context, namespace string) (out []memory.Key, err error) {
	err = forEach(ctx, s, apiKeys, namespaceFilter(namespace), oldestFirst, func(d *keyDoc) bool { out = append(out, d.Key); return true })
	return out, s.translate(err)
}

// namespaceFilter returns a filter for a namespace's documents.
func namespaceFilter(namespace string) bson.M { return bson.M{"namespace": namespace} }

var oldestFirst = options.Find().SetSort(sortKeys("created hash"))

// ExpireKey sets the time at which a key expires: see [memory.Keys].
func (s *Store) ExpireKey(ctx context.Context, namespace, id string, at time.Time) error {
	key, err := s.keyFilter(ctx, namespace, id)
	if err != nil {
		return err
	}
	_, err = s.collection(apiKeys).UpdateOne(ctx, key, bson.M{"$set": bson.M{"expires": memory.Time(at)}})
	return s.translate(err)
}

// UseKey stores the time at which a key was used: see [memory.Keys].
func (s *Store) UseKey(ctx context.Context, namespace, id string, at time.Time) error {
	key, err := s.keyFilter(ctx, namespace, id)
	if errors.Is(err, memory.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = s.collection(apiKeys).UpdateOne(ctx, key, bson.M{"$max": bson.M{"used": memory.Time(at)}})
	return s.translate(err)
}

// RemoveKey removes an API key: see [memory.Keys].
func (s *Store) RemoveKey(ctx context.Context, namespace, id string) error {
	key, err := s.keyFilter(ctx, namespace, id)
	if err != nil {
		return err
	}
	_, err = s.collection(apiKeys).DeleteOne(ctx, key)
	return s.translate(err)
}

// keyFilter returns the filter for the key with an id, or [memory.NotFound].
func (s *Store) keyFilter(ctx context.Context, namespace, id string) (bson.M, error) {
	keys, err := s.Keys(ctx, namespace)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		if k.ID() == id {
			return idFilter(namespace + " " + k.Hash), nil
		}
	}
	return nil, memory.Errorf(memory.NotFound, "there is no key %s", id)
}

type auditDoc struct {
	DocID string            `bson:"_id"`
	Owner memory.Owner      `bson:"owner"` // the namespace's global owner
	Entry memory.AuditEntry `bson:",inline"`
}

// AddAuditEntries adds entries to the audit log: see [memory.Audit].
func (s *Store) AddAuditEntries(ctx context.Context, namespace string, entries ...memory.AuditEntry) error {
	owner := memory.Global(namespace)
	if err := checkOwner(ctx, owner); err != nil {
		return err
	}
	for _, e := range entries {
		e.At = memory.Time(e.At)
		_, err := s.collection(audit).InsertOne(ctx, auditDoc{docID(owner, "audit:"+e.ID), owner, e})
		if err != nil && !mongo.IsDuplicateKeyError(err) {
			return s.translate(err)
		}
	}
	return nil
}

// AuditEntries returns entries of the audit log: see [memory.Audit].
func (s *Store) AuditEntries(ctx context.Context, namespace string, q memory.AuditQuery) (memory.AuditPage, error) {
	filter := ownerFilter(memory.Global(namespace))
	if q.User != "" {
		filter["user"] = q.User
	}
	if q.Act != "" {
		filter["act"] = q.Act
	}
	at := bson.M{"$gte": q.Since}
	if !q.Until.IsZero() {
		at["$lt"] = q.Until
	}
	filter["at"] = at
	if q.Cursor != "" {
		last, err := ownerdata.DecodeCursor(q.Cursor)
		if err != nil {
			return memory.AuditPage{}, err
		}
		filter["$or"] = bson.A{bson.M{"at": bson.M{"$lt": last.At}}, bson.M{"at": last.At, "id": bson.M{"$lt": last.ID}}}
	}
	var matches []memory.AuditEntry
	limit := ownerdata.PageSize(q.Limit)
	newest := options.Find().SetSort(sortKeys("-at -id")).SetLimit(int64(limit) + 1)
	err := forEach(ctx, s, audit, filter, newest, func(d *auditDoc) bool { matches = append(matches, d.Entry); return true })
	if err != nil {
		return memory.AuditPage{}, s.translate(err)
	}
	entries, next, err := ownerdata.PageAfter(matches, limit, "", ownerdata.AuditPosition)
	return memory.AuditPage{Entries: entries, Next: next}, err
}

// DropAuditEntries removes old entries of the audit log: see [memory.Audit].
func (s *Store) DropAuditEntries(ctx context.Context, namespace string, before time.Time) (int, error) {
	filter := ownerFilter(memory.Global(namespace))
	filter["at"] = bson.M{"$lt": before}
	r, err := s.collection(audit).DeleteMany(ctx, filter)
	if err != nil {
		return 0, s.translate(err)
	}
	return int(r.DeletedCount), nil
}

// RenameAuditUser replaces a user's name in the audit log: see [memory.Audit]. If it is interrupted,
// some entries keep the old name until the erasure that calls it is repeated.
func (s *Store) RenameAuditUser(ctx context.Context, namespace, user, newName string) (int, error) {
	filter := func(field string) bson.M { return bson.M{"owner": memory.Global(namespace), field: user} }
	n, err := s.collection(audit).CountDocuments(ctx, bson.M{"$or": bson.A{filter("user"), filter("by")}})
	for _, field := range []string{"user", "by"} {
		if err == nil {
			_, err = s.collection(audit).UpdateMany(ctx, filter(field), bson.M{"$set": bson.M{field: newName}})
		}
	}
	return int(n), s.translate(err)
}

type signInDoc struct {
	ID        string         `bson:"_id"` // namespace and hash
	Namespace string         `bson:"namespace"`
	SignIn    memory.Session `bson:",inline"`
}

func signInDocOf(namespace string, session memory.Session) signInDoc {
	return signInDoc{namespace + " " + session.Hash, namespace, session}
}

// signIns returns the sign-ins of a namespace.
func (s *Store) signIns(ctx context.Context, namespace string) (out []memory.Session, err error) {
	err = forEach(ctx, s, signIns, namespaceFilter(namespace), oldestFirst, func(d *signInDoc) bool { out = append(out, d.SignIn); return true })
	return out, s.translate(err)
}

// AddSession stores a sign-in: see [memory.Sessions].
func (s *Store) AddSession(ctx context.Context, namespace string, session memory.Session) error {
	_, err := s.collection(signIns).InsertOne(ctx, signInDocOf(namespace, session))
	if mongo.IsDuplicateKeyError(err) {
		return memory.Errorf(memory.Conflict, "the session exists already")
	}
	if err != nil {
		return s.translate(err)
	}
	old := bson.M{"namespace": namespace, "expires": bson.M{"$lt": memory.Time(session.CreatedAt)}}
	_, err = s.collection(signIns).DeleteMany(ctx, old)
	return s.translate(err)
}

// Session returns a sign-in: see [memory.Sessions].
func (s *Store) Session(ctx context.Context, namespace, hash string) (memory.Session, error) {
	var d signInDoc
	err := s.collection(signIns).FindOne(ctx, idFilter(namespace+" "+hash)).Decode(&d)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return memory.Session{}, memory.Errorf(memory.NotFound, "no such session")
	}
	return d.SignIn, s.translate(err)
}

// RemoveSession removes a sign-in: see [memory.Sessions].
func (s *Store) RemoveSession(ctx context.Context, namespace, hash string) error {
	_, err := s.collection(signIns).DeleteOne(ctx, idFilter(namespace+" "+hash))
	return s.translate(err)
}
