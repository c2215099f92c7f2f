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

type usageDoc struct {
	Day     time.Time `bson:"day"`
	Purpose string    `bson:"purpose"`
	Model   string    `bson:"model"`
	Calls   int64     `bson:"calls"`
	Input   int64     `bson:"input_tokens"`
	Output  int64     `bson:"output_tokens"`
	Cost    float64   `bson:"cost"`
}

// Spend adds to what was spent: see [memory.Ledger].
func (s *Store) Spend(ctx context.Context, owner memory.Owner, u memory.Usage) error {
	if err := u.Check(); err != nil {
		return err
	}
	if err := checkOwner(ctx, owner); err != nil {
		return err
	}
	day := memory.DayOf(u.Day)
	change := bson.D{
		{Key: "$set", Value: bson.D{{Key: "owner", Value: owner}, {Key: "day", Value: day}, {Key: "purpose", Value: u.Purpose}, {Key: "model", Value: u.Model}}},
		{Key: "$inc", Value: bson.D{{Key: "calls", Value: u.Calls}, {Key: "input_tokens", Value: u.InputTokens}, {Key: "output_tokens", Value: u.OutputTokens}, {Key: "cost", Value: u.Cost}}},
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
	filter := ofOwner(owner, bson.E{Key: "day", Value: bson.D{{Key: "$gte", Value: memory.DayOf(from)}}})
	inOrder := options.Find().SetSort(bson.D{{Key: "day", Value: 1}, {Key: "purpose", Value: 1}, {Key: "model", Value: 1}})
	err = stream(ctx, s, ledger, filter, inOrder, func(d *usageDoc) bool {
		out = append(out, memory.Usage{Day: d.Day, Purpose: d.Purpose, Model: d.Model, Calls: d.Calls, InputTokens: d.Input, OutputTokens: d.Output, Cost: d.Cost})
		return true
	})
	return out, s.told(err)
}

var (
	_ memory.Keys     = (*Store)(nil)
	_ memory.Sessions = (*Store)(nil)
)

type keyDoc struct {
	Key       string         `bson:"_id"` // namespace and hash
	Namespace string         `bson:"namespace"`
	Hash      string         `bson:"hash"`
	Name      string         `bson:"name"`
	Role      memory.KeyRole `bson:"role"`
	User      string         `bson:"user"`
	CreatedAt time.Time      `bson:"created"`
}

// AddKey keeps an API key: see [memory.Keys].
func (s *Store) AddKey(ctx context.Context, namespace string, key memory.Key) error {
	_, err := s.in(apiKeys).InsertOne(ctx, keyDoc{namespace + " " + key.Hash, namespace, key.Hash, key.Name, key.Role, key.User, memory.Time(key.CreatedAt)})
	if mongo.IsDuplicateKeyError(err) {
		return memory.Errorf(memory.Conflict, "the key is there already")
	}
	return s.told(err)
}

// Keys returns the keys of a namespace: see [memory.Keys].
func (s *Store) Keys(ctx context.Context, namespace string) (out []memory.Key, err error) {
	err = stream(ctx, s, apiKeys, inNamespace(namespace), oldest, func(d *keyDoc) bool {
		out = append(out, memory.Key{Hash: d.Hash, Name: d.Name, Role: d.Role, User: d.User, CreatedAt: d.CreatedAt})
		return true
	})
	return out, s.told(err)
}

// inNamespace finds what is of a namespace, and oldest sorts it.
func inNamespace(namespace string) bson.D { return bson.D{{Key: "namespace", Value: namespace}} }

var oldest = options.Find().SetSort(bson.D{{Key: "created", Value: 1}, {Key: "hash", Value: 1}})

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
	Key       string    `bson:"_id"` // namespace and hash
	Namespace string    `bson:"namespace"`
	Hash      string    `bson:"hash"`
	User      string    `bson:"user"`
	CreatedAt time.Time `bson:"created"`
	ExpiresAt time.Time `bson:"expires"`
}

func signInDocOf(namespace string, one memory.Session) signInDoc {
	return signInDoc{namespace + " " + one.Hash, namespace, one.Hash, one.User, memory.Time(one.CreatedAt), memory.Time(one.ExpiresAt)}
}

// signIns returns the sign-ins of a namespace.
func (s *Store) signIns(ctx context.Context, namespace string) (out []memory.Session, err error) {
	err = stream(ctx, s, signIns, inNamespace(namespace), oldest, func(d *signInDoc) bool {
		out = append(out, memory.Session{Hash: d.Hash, User: d.User, CreatedAt: d.CreatedAt, ExpiresAt: d.ExpiresAt})
		return true
	})
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
	old := bson.D{{Key: "namespace", Value: namespace}, {Key: "expires", Value: bson.D{{Key: "$lt", Value: memory.Time(one.CreatedAt)}}}}
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
	return memory.Session{Hash: hash, User: d.User, CreatedAt: d.CreatedAt, ExpiresAt: d.ExpiresAt}, s.told(err)
}

// RemoveSession removes a sign-in: see [memory.Sessions].
func (s *Store) RemoveSession(ctx context.Context, namespace, hash string) error {
	_, err := s.in(signIns).DeleteOne(ctx, byID(namespace+" "+hash))
	return s.told(err)
}
