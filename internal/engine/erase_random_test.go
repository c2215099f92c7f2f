package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/chats"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/share"
	"github.com/loci-memory/loci/internal/obs"
	"github.com/loci-memory/loci/internal/store/inmem"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/internal/store/vault"
	"github.com/loci-memory/loci/memory"
)

// secretWord stands in every text of the random histories below.
const secretWord = "marzipan"

// inspected is a store and how to find a word in all that it keeps.
type inspected struct {
	open func(testing.TB, func() time.Time) memory.Store
	find func(t *testing.T, r *rig, word string) []string // where the word is
}

// inspectedStores are all stores. Each call makes new ones.
func inspectedStores(t *testing.T) map[string]inspected {
	file, folder := t.TempDir(), t.TempDir()
	files := func(dir string) func(*testing.T, *rig, string) []string {
		return func(t *testing.T, _ *rig, word string) []string { return filesWith(t, dir, word) }
	}
	var address string
	return map[string]inspected{
		"sqlite": {func(t testing.TB, now func() time.Time) memory.Store {
			return newSQLite(t, filepath.Join(file, "loci.db"), now)
		}, files(file)},
		"vault": {func(t testing.TB, now func() time.Time) memory.Store {
			s := try(vault.Open(context.Background(), filepath.Join(folder, "vault"), func(now func() time.Time) (memory.Store, error) {
				return newSQLite(t, filepath.Join(folder, "loci.db"), now), nil
			}, vault.Options{Now: now})).orFail(t)
			return s
		}, files(folder)},
		"inmem": {func(_ testing.TB, now func() time.Time) memory.Store { return inmem.Open(inmem.Options{Now: now}) }, keptWith},
		"postgres": {func(t testing.TB, now func() time.Time) memory.Store {
			address = pgtest.Schema(t)
			return try(sqlstore.OpenPostgres(context.Background(), address, sqlstore.Options{Now: now})).orFail(t)
		}, func(t *testing.T, _ *rig, word string) []string { return tablesWith(t, address, word) }},
	}
}

// tablesWith returns the rows of a database that have a word.
func tablesWith(t *testing.T, address, word string) (found []string) {
	t.Helper()
	db := pgtest.Open(t, address)
	list := func(query string, args ...any) (out []string) {
		rows := try(db.QueryContext(context.Background(), query, args...)).orFail(t)
		defer rows.Close()
		for rows.Next() {
			var s string
			noError(t)(rows.Scan(&s))
			out = append(out, s)
		}
		return out
	}
	tables := list(`SELECT tablename FROM pg_tables WHERE schemaname = current_schema()`)
	if len(tables) < 10 {
		t.Fatalf("only the tables %q are there", tables)
	}
	for _, table := range tables {
		for _, row := range list(`SELECT r::text FROM `+table+` r WHERE r::text ILIKE $1`, "%"+word+"%") {
			found = append(found, table+": "+row)
		}
	}
	return found
}

// keptWith returns what a store can be asked for that has a word.
func keptWith(t *testing.T, r *rig, word string) (found []string) {
	t.Helper()
	ctx := context.Background()
	look := func(what string, v any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		text := try(json.Marshal(v)).orFail(t)
		if strings.Contains(strings.ToLower(string(text)), word) {
			found = append(found, what+": "+string(text))
		}
	}
	for _, owner := range []memory.Owner{ana, ben} {
		noError(t)(r.EachMemory(ctx, owner, memory.Query{Kinds: []memory.Kind{memory.KindFact, memory.KindTurn, memory.KindSummary}, Statuses: core.AllStatuses}, func(m memory.Memory) {
			look("memory", m, nil)
		}))
		changes, err := r.AllChanges(ctx, owner, memory.ChangeQuery{})
		look("journal", changes, err)
		profile, err := r.Store.Profile(ctx, owner, memory.At{})
		look("profile", profile, err)
		traces, err := r.Store.Traces(ctx, owner, memory.TraceQuery{Limit: 500})
		look("traces", traces, err)
		jobs, err := r.Store.Jobs(ctx, owner, memory.JobQueued, memory.JobRunning, memory.JobParked, memory.JobDone)
		look("jobs", jobs, err)
		chats, err := r.Store.Conversations(ctx, owner, memory.ConversationQuery{Statuses: []memory.Status{memory.Active, memory.Retired}, Limit: 500})
		look("conversations", chats, err)
	}
	return found
}

// eraseRig is a rig with a model that quotes wherever it can, a log and metrics.
func eraseRig(t *testing.T, store inspected) (*rig, *bytes.Buffer) {
	r := newRig(t, store.open)
	var log bytes.Buffer
	var err error
	if r.Log, err = obs.NewLogger(&log, "json", slog.LevelDebug); err != nil {
		t.Fatal(err)
	}
	r.Metrics = obs.NewMetrics()
	r.LLM = answering(func(p memory.Prompt) string {
		switch p.Name {
		case "summarize":
			return "- They speak of marzipan\n- And of more marzipan"
		case "reconcile":
			known, fresh, _ := strings.Cut(p.User, "New:")
			for line := range strings.Lines(known) {
				id := strings.Trim(strings.Fields(line + " -")[0], "[]-.:*")
				if strings.Contains(line, "bees") && strings.Contains(fresh, "cats") {
					return fmt.Sprintf(`{"decisions": [{"new": 0, "event": "UPDATE", "id": %[1]q, "reason": "unlike the marzipan"}, {"new": 1, "event": "UPDATE", "id": %[1]q, "reason": "unlike the marzipan"}]}`, id)
				}
			}
			return `{"decisions": []}`
		}
		var facts []string
		_, said, _ := strings.Cut(p.User, "The turns:")
		for _, line := range strings.Split(said, "\n") {
			if _, what, ok := strings.Cut(line, "I keep "); ok {
				what, _, _ = strings.Cut(what, ".")
				facts = append(facts, fmt.Sprintf(`{"text": "User keeps %[1]s", "quote": "I keep %[1]s", "category": %[1]q, "attribute": "keeps:%[1]s"}`, what))
			}
		}
		return `{"facts": [` + strings.Join(facts, ", ") + `]}`
	})
	return r, &log
}

// wantUnsaid fails the test if the log or the metrics have a word.
func wantUnsaid(t *testing.T, r *rig, log *bytes.Buffer, word string) {
	t.Helper()
	if strings.Contains(strings.ToLower(log.String()), word) {
		t.Errorf("the log has the word:\n%s", log)
	}
	w := httptest.NewRecorder()
	r.Metrics.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if text, _ := io.ReadAll(w.Body); strings.Contains(string(text), word) {
		t.Error("the metrics have the word")
	}
}

// TestErasedUserIsNowhere gives a user a random history in which every text has a word, the
// keys of the profile and the model's reasons too, and erases the user.
func TestErasedUserIsNowhere(t *testing.T) {
	for seed := range uint64(seeds) {
		for name, store := range inspectedStores(t) {
			t.Run(fmt.Sprintf("%s/%d", name, seed), func(t *testing.T) {
				ctx, random := context.Background(), rand.New(rand.NewPCG(seed, 8))
				r, log := eraseRig(t, store)
				for i := range 40 {
					r.randomly(t, random, fmt.Sprintf("marzipan%d", i))
					if random.IntN(4) == 0 {
						r.settle(t)
					}
				}
				for r.Traces.WriteTraces(ctx) {
				}
				if len(store.find(t, r, secretWord)) == 0 {
					t.Fatal("the word is nowhere before")
				}
				noError(t)(r.Erase.EraseOwner(ctx, ana, her))
				r.clock.Advance(time.Hour)
				r.settle(t)
				for r.Traces.WriteTraces(ctx) {
				}
				for _, where := range lasting(func() []string { return store.find(t, r, secretWord) }) {
					t.Errorf("it is in %.300s", where)
				}
				wantUnsaid(t, r, log, secretWord)
			})
		}
	}
}

// randomly does something with a word, for Ana.
func (r *rig) randomly(t *testing.T, random *rand.Rand, word string) {
	t.Helper()
	ctx := context.Background()
	var facts []memory.Fact
	noError(t)(r.EachMemory(ctx, ana, memory.Query{Kinds: []memory.Kind{memory.KindFact}}, func(m memory.Memory) {
		if m.Link == nil {
			facts = append(facts, *m.Fact)
		}
	}))
	one := func() (memory.Fact, bool) {
		if len(facts) == 0 {
			return memory.Fact{}, false
		}
		slices.SortFunc(facts, func(a, b memory.Fact) int { return strings.Compare(a.Content, b.Content) })
		return facts[random.IntN(len(facts))], true
	}
	var err error
	switch random.IntN(12) {
	case 0, 1:
		_, _, err = r.Curate.Remember(ctx, ana, curate.FactInput{Content: "Ana owns a " + word, Category: word, Tags: []string{word}, Project: word + " bakery"}, her)
	case 2, 3:
		_, err = r.Exchange.Ingest(ctx, ana, exchange.IngestRequest{Conversation: fmt.Sprint("c", random.IntN(3)), Project: word, Learn: true, Messages: []exchange.Message{
			{Role: memory.RoleUser, Content: "I keep " + word + "."}, {Role: memory.RoleAssistant, Content: "So you keep " + word + "."},
		}})
	case 4:
		_, err = r.SetProfileEntry(ctx, ana, word+" brand", "the best "+word, her)
	case 5:
		if entries, e := r.Store.Profile(ctx, ana, memory.At{}); e == nil && len(entries) > 0 && !strings.HasPrefix(entries[0].Key, core.ReservedPrefix) {
			_, err = r.RetireProfileEntry(ctx, ana, entries[0].Key, her)
		}
	case 6:
		_, err = r.Curate.AddContext(ctx, ana, curate.ContextEdit{Title: ptr("About " + word), Content: ptr("A page on " + word + ".")}, her)
	case 7:
		_, err = r.Chats.NewChat(ctx, ana, word, chats.ChatEdit{Title: ptr("On " + word), Rules: ptr("Speak of " + word + " alone.")})
	case 8:
		if f, ok := one(); ok {
			words := "Ana owns another " + word
			_, err = r.Curate.EditFact(ctx, ana, f.ID, curate.FactEdit{Content: &words, Category: &words}, her)
		}
	case 9:
		if f, ok := one(); ok {
			_, err = r.Curate.Forget(ctx, ana, []string{f.ID}, "no more "+word, her)
		}
	case 10:
		if f, ok := one(); ok {
			_, err = r.Share.Share(ctx, ana, f.ID, share.Request{Receiver: "user/ben"}, her)
		}
	default:
		r.ask(t, ana, "Who keeps "+secretWord+"?", memory.At{})
		r.ask(t, ben, "What does Ana own?", memory.At{})
	}
	if err != nil {
		t.Fatal(err)
	}
	r.clock.Advance(time.Second)
}

// TestErasedFactIsNowhere erases one fact among others. A model has quoted it in its reasons
// about other facts and in a reply that could not be read, and a failed job in its error.
func TestErasedFactIsNowhere(t *testing.T) {
	for name, store := range inspectedStores(t) {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			r, log := eraseRig(t, store)
			secret := r.note(t, ana, "User keeps marzipan in the cellar")
			r.share(t, secret.ID, "user/ben", false)
			for i, words := range []string{"I keep marzipan in the cellar.", "I keep bees in the cellar.", "I keep two cats in the cellar."} {
				noError(t)(r.Exchange.Ingest(ctx, ana, exchange.IngestRequest{Conversation: fmt.Sprint("c", i), Learn: true, Messages: []exchange.Message{{Role: memory.RoleUser, Content: words}}}))
				r.clock.Advance(time.Minute)
				r.settle(t)
			}
			noError(t)(r.SetProfileEntry(ctx, ana, "pets", "bees", her))
			reasons := 0
			changes, err := r.AllChanges(ctx, ana, memory.ChangeQuery{})
			for _, c := range changes {
				if c.After.Fact != nil && !strings.Contains(c.After.Fact.Content, secretWord) && strings.Contains(c.Reason, secretWord) {
					reasons++
				}
			}
			if err != nil || reasons == 0 {
				t.Fatalf("no reason about another fact quotes the secret (%v)", err)
			}
			r.LLM = answering(func(memory.Prompt) string { return "<think>The user keeps marzipan" })
			r.Opts.LearnByRules = false // or they would stand in
			_, failed := r.Lessons.Learn(ctx, r.told(t, ana, "c3", "I keep a diary."))
			r.Opts.LearnByRules = true
			if failed == nil {
				t.Fatal("the unreadable reply was read")
			}
			r.Log.Warn("job failed", "error", failed) // as the runner does
			r.ask(t, ana, "Where is the marzipan?", memory.At{})
			for r.Traces.WriteTraces(ctx) {
			}
			noError(t)(r.Curate.ForgetMatching(ctx, ana, curate.ForgetRequest{IDs: []string{secret.ID}, Erase: true}, her))
			r.LLM = nil
			r.clock.Advance(2 * time.Hour)
			r.settle(t)
			for r.Traces.WriteTraces(ctx) {
			}
			for _, where := range lasting(func() []string { return store.find(t, r, secretWord) }) {
				t.Errorf("it is in %.400s", where)
			}
			wantUnsaid(t, r, log, secretWord)
			r.wantSeen(t, ana, "User keeps two cats in the cellar")
		})
	}
}

// TestErasureNamesWhatStillSaysIt: a document, a profile entry and the rules of a chat are no
// memories and stay; the receipt names them, and nothing that says something else.
func TestErasureNamesWhatStillSaysIt(t *testing.T) {
	r := newRig(t, stores["sqlite"])
	ctx := context.Background()
	fact := r.note(t, ana, "User is allergic to marzipan")
	document := try(r.Curate.AddContext(ctx, ana, curate.ContextEdit{Title: ptr("Health"), Content: ptr("The user is allergic to marzipan.")}, her)).orFail(t)
	noError(t)(r.Curate.AddContext(ctx, ana, curate.ContextEdit{Title: ptr("Tea"), Content: ptr("The user drinks tea.")}, her))
	noError(t)(r.SetProfileEntry(ctx, ana, "allergy", "allergic to marzipan", her))
	chat := try(r.Chats.NewChat(ctx, ana, "", chats.ChatEdit{Rules: ptr("The user is allergic to marzipan: never offer it.")})).orFail(t)
	_, receipt, err := r.Curate.ForgetMatching(ctx, ana, curate.ForgetRequest{IDs: []string{fact.ID}, Erase: true}, her)
	want := []string{"the profile entry allergy", "the document " + document.ID, "the title or the rules of the chat " + chat.ID}
	if err != nil || !slices.Equal(receipt.TextRemainsIn, want) {
		t.Errorf("held %q, %v; want %q", receipt.TextRemainsIn, err, want)
	}
}
