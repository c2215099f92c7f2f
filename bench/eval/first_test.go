package eval

import (
	"fmt"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/loci-memory/loci/bench/eval/talk"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/model/embed"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// bothStores opens a store of each kind for tests, or only one where there is no server.
var bothStores = []struct {
	name string
	open func(testing.TB) (*sqlstore.Store, error)
}{
	{"sqlite", func(t testing.TB) (*sqlstore.Store, error) {
		return sqlstore.OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "loci.db"), sqlstore.Options{Now: time.Now})
	}},
	{"postgres", func(t testing.TB) (*sqlstore.Store, error) {
		return sqlstore.OpenPostgres(t.Context(), pgtest.Schema(t), sqlstore.Options{})
	}},
}

// TestIndexFromStoreFindsTheSame compares an index loaded from a store with one that followed all changes. Results
// and scores must be equal.
func TestIndexFromStoreFindsTheSame(t *testing.T) {
	for _, store := range bothStores {
		for _, turns := range []int{5, 1100} { // more than a server tells at a time
			t.Run(fmt.Sprint(store.name, " ", turns), func(t *testing.T) {
				s, err := store.open(t)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = s.Close() })
				questions := fillAll(t, s, turns)
				options := index.Options{Model: embed.Lexical{}.Fingerprint()}
				lean, whole := index.New(s, options), index.New(struct{ memory.IndexSource }{s}, options)
				defer func() { _, _ = lean.Close(), whole.Close() }()
				for _, q := range questions {
					got, err := lean.Search(t.Context(), q)
					if err != nil {
						t.Fatal(err)
					}
					want, err := whole.Search(t.Context(), q)
					if err != nil || len(want) == 0 {
						t.Fatalf("%q finds %d, %v", q.Text, len(want), err)
					}
					if !reflect.DeepEqual(got, want) {
						t.Fatalf("%q\n got %+v\nwant %+v", q.Text, got, want)
					}
				}
			})
		}
	}
}

// fillAll gives Ana turns, facts and a summary with all that a search may look at, and
// returns questions.
func fillAll(t *testing.T, s *sqlstore.Store, turns int) (questions []memory.Search) {
	t.Helper()
	model, talk := embed.Lexical{}, talk.New(1)
	said := talk.Sentences(turns)
	said[0] += " It was on 3 March 2024 in Lisbon, \"at last\"?"
	vector := func(as memory.EmbedAs, text string) []float32 {
		v, err := model.Embed(t.Context(), as, text)
		if err != nil {
			t.Fatal(err)
		}
		return v[0]
	}
	b := memtest.Batch(memtest.Ana, "talk", 0, said...)
	b.Conversation.Project, b.Conversation.Agent = "boat", "mate"
	for i := range b.Turns {
		one := &b.Turns[i]
		one.Project, one.Agent, one.Name, one.CreatedAt = "boat", "mate", []string{"", "Ben"}[i%2], memtest.Epoch.Add(time.Duration(i)*time.Hour)
		if i == 2 {
			one.Name = memory.RecallModel
		}
		if i != 3 {
			b.Vectors = append(b.Vectors, memory.Vector{Memory: one.ID, Model: model.Fingerprint(), Values: vector(memory.AsDocument, one.Content)})
		}
	}
	if _, err := s.Append(t.Context(), memtest.Ana, b); err != nil {
		t.Fatal(err)
	}
	run := memtest.Run("learn")
	var changes []memory.Change
	for i, text := range talk.Sentences(6) {
		f := memtest.Fact(memtest.Ana, text+" My sister lives in Porto since May 2019.")
		f.Scope.Project, f.Category, f.Tags, f.Subject, f.Confidence = "boat", "place", []string{"harbour", "x"}, []string{"user", "sister"}[i%2], 0.3+float64(i)/10
		f.Provenance.Conversation, f.ObservedAt, f.UpdatedAt = "talk", memtest.Epoch.Add(-time.Duration(i)*24*time.Hour), memtest.Epoch.Add(time.Duration(i)*time.Minute)
		if i == 4 {
			f.ExpiresAt = memtest.Epoch.Add(time.Hour)
		}
		run.Vectors = append(run.Vectors, memory.Vector{Memory: f.ID, Model: model.Fingerprint(), Values: vector(memory.AsDocument, f.Content)})
		changes = append(changes, memtest.Add(f))
		said = append(said, f.Content)
	}
	changes = append(changes, memtest.Change(memory.ActionAdd, memtest.Summary(memtest.Ana, "talk", "They spoke of "+said[1])))
	if _, err := s.Apply(t.Context(), memtest.Ana, run, changes...); err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		text := talk.Question(said) + " Lisbon March Porto sister"
		q := memory.Search{Scopes: []memory.Scope{{Owner: memtest.Ana, Project: "boat", Agent: "mate", Conversation: "talk"}}, Text: text, Vector: vector(memory.AsQuestion, text)}
		switch i % 5 {
		case 1:
			q.Tag = "harbour"
		case 2:
			q.Category = "place"
		case 3:
			q.Conversation = "talk"
		case 4:
			q.Now = memtest.Epoch.Add(2 * time.Hour)
		}
		questions = append(questions, q)
	}
	return questions
}
