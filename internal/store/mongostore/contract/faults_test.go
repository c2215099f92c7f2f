package contract

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/loci-memory/loci/internal/store/mongostore"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// collections gives a test the database itself.
func collections(t *testing.T, address string) *mongo.Database {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI(address))
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	u, err := url.Parse(address)
	if err != nil {
		t.Fatalf("address: %v", err)
	}
	return client.Database(strings.TrimPrefix(u.Path, "/"))
}

func TestAddressThatCannotBeOpened(t *testing.T) {
	for address, want := range map[string]memory.Code{
		"mongodb://":                  memory.Invalid,
		"mongodb://127.0.0.1:1":       memory.Invalid, // it names no database
		"postgres://127.0.0.1:1/loci": memory.Invalid,
		"mongodb://loci:hush@127.0.0.1:1/loci?serverSelectionTimeoutMS=200": memory.Unavailable,
	} {
		_, err := mongostore.Open(t.Context(), address, mongostore.Options{})
		if !errors.Is(err, want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: got %v, want %s without the password", address, err, want)
		}
	}
}

func TestDatabaseOfALaterVersionIsRefused(t *testing.T) {
	address := database(t.TempDir())
	openWith(t, address, mongostore.Options{})
	about := collections(t, address).Collection("about")
	if _, err := about.UpdateOne(t.Context(), bson.D{}, bson.D{{Key: "$set", Value: bson.D{{Key: "format", Value: 99}}}}); err != nil {
		t.Fatal(err)
	}
	_, err := mongostore.Open(t.Context(), address, mongostore.Options{})
	if !errors.Is(err, memory.Unavailable) || !strings.Contains(err.Error(), "later Loci") {
		t.Errorf("got %v, want to be told that it is of a later version", err)
	}
}

func TestDatabaseOfSomebodyElseIsRefused(t *testing.T) {
	address := database(t.TempDir())
	if _, err := collections(t, address).Collection("sessions").InsertOne(t.Context(), bson.D{{Key: "name", Value: "Rex"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := mongostore.Open(t.Context(), address, mongostore.Options{}); !errors.Is(err, memory.Conflict) {
		t.Errorf("got %v, want conflict", err)
	}
}

func TestCollectionThatIsGone(t *testing.T) {
	address := database(t.TempDir())
	s := openWith(t, address, mongostore.Options{})
	if _, err := s.Append(t.Context(), memtest.Ana, memtest.Batch(memtest.Ana, "c", 0, "I drink tea")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), memtest.Ana, memtest.Run("r"), memtest.Add(memtest.Fact(memtest.Ana, "drinks tea"))); err != nil {
		t.Fatal(err)
	}
	db := collections(t, address)
	if err := db.Collection("facts").Drop(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := openWith(t, address, mongostore.Options{})
	if _, err := again.Apply(t.Context(), memtest.Ana, memtest.Run("r2"), memtest.Add(memtest.Fact(memtest.Ana, "lives in Lisbon"))); err != nil {
		t.Errorf("write without what was lost: %v", err)
	}
	if n, err := again.Counts(t.Context(), memtest.Ana); err != nil || n.Facts != 1 || n.Turns != 1 || n.Changes != 2 {
		t.Errorf("counts: got %+v, %v; want what is left", n, err)
	}
	if err := db.Collection("commits").Drop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := mongostore.Open(t.Context(), address, mongostore.Options{}); !errors.Is(err, memory.Unavailable) || !strings.Contains(err.Error(), "backup") {
		t.Errorf("without commits: got %v, want to be told to restore a backup", err)
	}
}

// Whoever cannot wait is not held up by those who write to a server that is away.
func TestDeadlineHoldsWhileOthersWait(t *testing.T) {
	address, stop, err := startFerret(t.TempDir(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := openWith(t, address+"/loci", mongostore.Options{})
	stop()
	ended, cancel := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for i := range 3 {
		writers.Go(func() {
			_, _ = s.Apply(ended, memtest.Ana, memtest.Run(fmt.Sprint(i)), memtest.Add(memtest.Fact(memtest.Ana, fmt.Sprint(i))))
		})
	}
	time.Sleep(100 * time.Millisecond)
	late, end := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer end()
	for what, call := range map[string]func() error{
		"read":  func() error { _, err := s.Get(late, memtest.Ana, "x"); return err },
		"write": func() error { _, err := s.Apply(late, memtest.Ana, memtest.Run("late")); return err },
	} {
		done := make(chan error, 1)
		go func() { done <- call() }()
		select {
		case err := <-done:
			if err == nil {
				t.Errorf("%s: no error without a server", what)
			}
		case <-time.After(10 * time.Second): // less than writes are tried for
			t.Errorf("%s: it goes on long after its deadline", what)
		}
	}
	cancel()
	writers.Wait()
}

// A commit that its writer left is completed by whoever comes next, once.
func TestCommitThatWasLeftIsCompleted(t *testing.T) {
	address := database(t.TempDir())
	fact := memtest.Fact(memtest.Ana, "drinks tea")
	dead := 0
	s := openWith(t, address, mongostore.Options{Failpoint: func() {
		if dead++; dead == 3 { // committed, and one collection written
			panic("dead")
		}
	}})
	func() {
		defer func() { _ = recover() }()
		_, _ = s.Apply(t.Context(), memtest.Ana, memtest.Run("left"), memtest.Add(fact))
	}()
	other := openWith(t, address, mongostore.Options{})
	got, err := other.Get(t.Context(), memtest.Ana, fact.ID)
	if err != nil || len(got) != 1 || got[0].Content() != fact.Content {
		t.Errorf("got %+v, %v; want the fact", got, err)
	}
	again, err := other.Apply(t.Context(), memtest.Ana, memtest.Run("left"), memtest.Add(fact))
	if err != nil || !again.Again {
		t.Errorf("applied again: got %+v, %v", again, err)
	}
	if n, err := other.Counts(t.Context(), memtest.Ana); err != nil || n.Facts != 1 || n.Changes != 1 {
		t.Errorf("counts: got %+v, %v", n, err)
	}
}

func TestProgramsOfThePlatformFindTheirFields(t *testing.T) {
	address := database(t.TempDir())
	s := openWith(t, address, mongostore.Options{})
	b := memtest.Batch(memtest.Ana, "s1", 0, "I live in Lisbon", "Noted.")
	b.Vectors = []memory.Vector{{Memory: b.Turns[0].ID, Model: "m", Values: []float32{1, 0, 0}}}
	if _, err := s.Append(t.Context(), memtest.Ana, b); err != nil {
		t.Fatal(err)
	}
	_, err := s.Apply(t.Context(), memtest.Ana, memtest.Run("r"),
		memtest.Change(memory.ActionAdd, memtest.Summary(memtest.Ana, "s1", "- lives in Lisbon")), memtest.Change(memory.ActionAdd, memtest.Profile(memtest.Ana, "city", "Lisbon")))
	if err != nil {
		t.Fatal(err)
	}
	db := collections(t, address)
	user := memtest.Ana.Name()
	var said struct {
		Role, Content string
		Embedding     []float64
		Timestamp     time.Time
		Index         int `bson:"message_index"`
	}
	first := bson.D{{Key: "session_id", Value: "s1"}, {Key: "user_id", Value: user}, {Key: "message_index", Value: 0}}
	if err := db.Collection("vectors").FindOne(t.Context(), first).Decode(&said); err != nil || said.Content != "I live in Lisbon" || said.Role != "user" || len(said.Embedding) != 3 || said.Timestamp.IsZero() {
		t.Errorf("vectors: got %+v, %v", said, err)
	}
	var summed struct {
		Summaries []struct {
			T            time.Time
			Text, Model  string
			MessageCount int `bson:"message_count"`
		}
		CreatedAt time.Time `bson:"created_at"`
	}
	if err := db.Collection("summaries").FindOne(t.Context(), bson.D{{Key: "session_id", Value: "s1"}, {Key: "user_id", Value: user}}).Decode(&summed); err != nil || len(summed.Summaries) != 1 || summed.Summaries[0].Text != "- lives in Lisbon" || summed.Summaries[0].T.IsZero() {
		t.Errorf("summaries: got %+v, %v", summed, err)
	}
	var known struct {
		Key, Value string
		UpdatedAt  time.Time `bson:"updated_at"`
		Tokens     int       `bson:"tokenCount"`
	}
	if err := db.Collection("memories").FindOne(t.Context(), bson.D{{Key: "user_id", Value: user}}).Decode(&known); err != nil || known.Key != "city" || known.Value != "Lisbon" || known.UpdatedAt.IsZero() {
		t.Errorf("memories: got %+v, %v", known, err)
	}
	if n, err := db.Collection("sessions").CountDocuments(t.Context(), bson.D{{Key: "session_id", Value: "s1"}, {Key: "user_id", Value: user}}); err != nil || n != 1 {
		t.Errorf("sessions: got %d, %v", n, err)
	}
}

// What was acknowledged while a server stops and starts is there, once; no write is refused that a
// restart of some seconds holds up.
func TestServerThatRestartsUnderLoad(t *testing.T) {
	dir := t.TempDir()
	address, stop, err := startFerret(dir, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listen := strings.TrimPrefix(address, "mongodb://")
	s := openWith(t, address+"/loci", mongostore.Options{})
	var writers sync.WaitGroup
	var mu sync.Mutex
	acked := map[string]bool{}
	for w := range 3 {
		owner := memory.User("default", fmt.Sprint("user", w))
		writers.Go(func() {
			for i := range 15 {
				f := memtest.Fact(owner, fmt.Sprint(w, " says ", i))
				if _, err := s.Apply(t.Context(), owner, memtest.Run(fmt.Sprint("run", i)), memtest.Add(f)); err != nil {
					t.Errorf("write %d of %s: %v", i, owner, err)
					return
				}
				mu.Lock()
				acked[string(owner)+f.ID] = true
				mu.Unlock()
			}
		})
	}
	for range 2 {
		time.Sleep(300 * time.Millisecond)
		stop()
		time.Sleep(300 * time.Millisecond)
		if _, stop, err = startFerret(dir, listen); err != nil {
			t.Fatal(err)
		}
	}
	writers.Wait()
	for w := range 3 {
		owner := memory.User("default", fmt.Sprint("user", w))
		n := 0
		for m, err := range memory.AllMemories(t.Context(), s.List, owner, memory.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; !acked[string(owner)+m.ID()] {
				t.Errorf("%s: %q was not acknowledged", owner, m.Content())
			}
		}
		if versions, err := s.Versions(t.Context(), []memory.Owner{owner}); err != nil || n != 15 || versions[0] != 15 {
			t.Errorf("%s: got %d facts at version %v, %v; want 15 of each", owner, n, versions, err)
		}
	}
	stop()
	if err := s.Ping(t.Context()); !errors.Is(err, memory.Unavailable) || strings.Contains(err.Error(), listen) {
		t.Errorf("without a server: got %v, want unavailable without its address", err)
	}
	if _, stop, err = startFerret(dir, listen); err == nil { // for what closes the store
		t.Cleanup(stop)
	}
}
