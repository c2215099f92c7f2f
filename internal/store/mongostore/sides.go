package mongostore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/loci-memory/loci/memory"
)

// What stands beside memory: what was spent, API keys, sign-ins. Each is a document that is
// changed by itself.

// Spend adds to what was spent: see [memory.Ledger].
func (s *Store) Spend(ctx context.Context, owner memory.Owner, u memory.Usage) error {
	if err := u.Check(); err != nil {
		return err
	}
	if err := checkOwner(ctx, owner); err != nil {
		return err
	}
	day := memory.DayOf(u.Day)
	change := bson.M{
		"$set": bson.M{"owner": owner, "day": day, "purpose": u.Purpose, "model": u.Model},
		"$inc": bson.M{"calls": u.Calls, "input_tokens": u.InputTokens, "output_tokens": u.OutputTokens, "cost": u.Cost},
	}
	key := byID(keyOf(owner, fmt.Sprintf("spent:%s:%q:%q", day.Format(time.DateOnly), u.Purpose, u.Model)))
	for {
		_, err := s.in(ledger).UpdateOne(ctx, key, change, options.UpdateOne().SetUpsert(true))
		if !mongo.IsDuplicateKeyError(err) { // it was there first after all
			return s.told(err)
		}
	}
}

// Spent returns what was spent from a day on: see [memory.Ledger].
func (s *Store) Spent(ctx context.Context, owner memory.Owner, from time.Time) (out []memory.Usage, err error) {
	if err := checkOwner(ctx, owner); err != nil {
		return nil, err
	}
	filter := bson.M{"owner": owner, "day": bson.M{"$gte": memory.DayOf(from)}}
	inOrder := options.Find().SetSort(keys("day purpose model"))
	err = stream(ctx, s, ledger, filter, inOrder, func(u *memory.Usage) bool { out = append(out, *u); return true })
	return out, s.told(err)
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

// AddKey keeps an API key: see [memory.Keys].
func (s *Store) AddKey(ctx context.Context, namespace string, key memory.Key) error {
	_, err := s.in(apiKeys).InsertOne(ctx, keyDoc{namespace + " " + key.Hash, namespace, key})
	if mongo.IsDuplicateKeyError(err) {
		return memory.Errorf(memory.Conflict, "the key is there already")
	}
	return s.told(err)
}

// Keys returns the keys of a namespace: see [memory.Keys].
func (s *Store) Keys(ctx context.Context, namespace string) (out []memory.Key, err error) {
	err = stream(ctx, s, apiKeys, inNamespace(namespace), oldest, func(d *keyDoc) bool { out = append(out, d.Key); return true })
	return out, s.told(err)
}

// inNamespace finds what is of a namespace, and oldest sorts it.
func inNamespace(namespace string) bson.M { return bson.M{"namespace": namespace} }

var oldest = options.Find().SetSort(keys("created hash"))

// RemoveKey removes an API key: see [memory.Keys].
func (s *Store) RemoveKey(ctx context.Context, namespace, id string) error {
	keys, err := s.Keys(ctx, namespace)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if k.ID() == id {
			_, err := s.in(apiKeys).DeleteOne(ctx, byID(namespace+" "+k.Hash))
			return s.told(err)
		}
	}
	return memory.Errorf(memory.NotFound, "no key %s", id)
}

type signInDoc struct {
	ID        string         `bson:"_id"` // namespace and hash
	Namespace string         `bson:"namespace"`
	SignIn    memory.Session `bson:",inline"`
}

func signInDocOf(namespace string, one memory.Session) signInDoc {
	return signInDoc{namespace + " " + one.Hash, namespace, one}
}

// signIns returns the sign-ins of a namespace.
func (s *Store) signIns(ctx context.Context, namespace string) (out []memory.Session, err error) {
	err = stream(ctx, s, signIns, inNamespace(namespace), oldest, func(d *signInDoc) bool { out = append(out, d.SignIn); return true })
	return out, s.told(err)
}

// AddSession keeps a sign-in: see [memory.Sessions].
func (s *Store) AddSession(ctx context.Context, namespace string, one memory.Session) error {
	_, err := s.in(signIns).InsertOne(ctx, signInDocOf(namespace, one))
	if mongo.IsDuplicateKeyError(err) {
		return memory.Errorf(memory.Conflict, "the session is there already")
	}
	if err != nil {
		return s.told(err)
	}
	old := bson.M{"namespace": namespace, "expires": bson.M{"$lt": memory.Time(one.CreatedAt)}}
	_, err = s.in(signIns).DeleteMany(ctx, old)
	return s.told(err)
}

// Session returns a sign-in: see [memory.Sessions].
func (s *Store) Session(ctx context.Context, namespace, hash string) (memory.Session, error) {
	var d signInDoc
	err := s.in(signIns).FindOne(ctx, byID(namespace+" "+hash)).Decode(&d)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return memory.Session{}, memory.Errorf(memory.NotFound, "no such session")
	}
	return d.SignIn, s.told(err)
}

// RemoveSession removes a sign-in: see [memory.Sessions].
func (s *Store) RemoveSession(ctx context.Context, namespace, hash string) error {
	_, err := s.in(signIns).DeleteOne(ctx, byID(namespace+" "+hash))
	return s.told(err)
}
