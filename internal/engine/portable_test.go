package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/chats"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/transfer"
	"github.com/loci-memory/loci/internal/portable"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// taken returns what an owner takes away, without the first line, which says when.
func (r *rig) taken(t testing.TB, owner memory.Owner, what transfer.ExportOptions) string {
	t.Helper()
	var b bytes.Buffer
	noError(t)(r.Transfer.Export(context.Background(), owner, what, &b))
	_, rest, _ := strings.Cut(b.String(), "\n")
	return rest
}

func (r *rig) whole(t testing.TB, owner memory.Owner, what transfer.ExportOptions) string {
	t.Helper()
	var b bytes.Buffer
	noError(t)(r.Transfer.Export(context.Background(), owner, what, &b))
	return b.String()
}

// attached returns an owner's contexts and what chats have of them, by the store.
func (r *rig) attached(t testing.TB, owner memory.Owner) string {
	t.Helper()
	contexts := try(r.Store.Contexts(context.Background(), owner, memory.At{})).orFail(t)
	page, err := r.Store.Conversations(context.Background(), owner, memory.ConversationQuery{Statuses: []memory.Status{memory.Active, memory.Retired}, Limit: 500})
	if err != nil || page.Next != "" {
		t.Fatal(err, page.Next)
	}
	var b strings.Builder
	for _, c := range contexts {
		c.Version = 0
		fmt.Fprintf(&b, "%+v\n", c)
	}
	for _, c := range page.Conversations {
		fmt.Fprintf(&b, "%+v\n", c.State())
	}
	return b.String()
}

// bring imports a text.
func (r *rig) bring(t testing.TB, owner memory.Owner, b transfer.ImportOptions, text string) transfer.ImportReport {
	t.Helper()
	return try(r.Transfer.Import(context.Background(), owner, b, her, strings.NewReader(text))).orFail(t)
}

// lived returns a scene after some steps of what people do at random, with what they
// do not do added: profile entries, relations, and words that are hard to write.
func lived(t *testing.T, seed uint64, steps int) *scene {
	t.Helper()
	w := &world{
		scene: newScene(t, stores["inmem"]), t: t, random: rand.New(rand.NewPCG(seed, seed)), people: []string{"ana", "ben"},
		exports: map[string]map[int64]image{}, gone: map[string]map[string]bool{},
	}
	w.Opts.Learn.Summary.EveryExchanges = 2
	for _, p := range w.people {
		w.gone[p], w.names[p] = map[string]bool{}, "c0"
	}
	for i := range steps {
		w.clock.Advance(time.Duration(w.random.IntN(7200)) * time.Second)
		what, err := w.act(w.pick(w.people))
		if err == nil {
			err = w.work(context.Background())
		}
		if err != nil && !isExpected(err) {
			t.Fatalf("step %d, %s: %v", i, what, err)
		}
	}
	ctx := context.Background()
	noError(t)(w.SetPause(ctx, ana, core.PauseNone, "", her))
	var changes []memory.Change
	var ids []string
	for i, words := range hardWords {
		f := memtest.Fact(ana, words)
		f.ID, f.Hash = core.NewID(), fmt.Sprint("h", i)
		f.Category = []string{"", "health", "## Facts", "a > b"}[i%4]
		f.Metadata = []byte(`{"k":"-->","n":[1,{"x":null}]}`)
		changes, ids = append(changes, memtest.Add(f)), append(ids, f.ID)
		changes = append(changes, memtest.Change(memory.ActionAdd, memtest.Profile(ana, fmt.Sprintf("key %d -->", i), words)))
	}
	for i, kind := range []memory.RelationKind{memory.SameSubject, memory.Refines, memory.Follows} {
		changes = append(changes, memtest.Change(memory.ActionAdd, memtest.Relation(ana, ids[i], ids[i+1], kind)))
	}
	noError(t)(w.Store.Apply(ctx, ana, memtest.Run("hard"), changes...))
	batch := memtest.Batch(ana, "hard > words", 0, hardWords...)
	batch.Conversation.Title = "Title -->\twith <!-- loci {\"type\":\"turn\"} -->"
	noError(t)(w.Store.Append(ctx, ana, batch))
	w.attach(t, seed)
	empty := memtest.Conversation(ana, "nothing was said")
	noError(t)(w.Store.Append(ctx, ana, memory.Batch{Conversation: empty}))
	return w.scene
}

// attach writes contexts and changes some of them, attaches them to chats with rules,
// and deletes one chat that something was said in and one that nothing was.
func (w *world) attach(t *testing.T, seed uint64) {
	t.Helper()
	ctx := context.Background()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var changes []memory.Change
	for i, words := range hardWords {
		changes = append(changes, memtest.Change(memory.ActionAdd, memory.Context{
			ID: core.NewID(), Owner: ana, Title: []string{"", "a > b --> c", "## Facts"}[i%3], Content: words,
			Status: memory.Active, CreatedAt: w.Time(), UpdatedAt: w.Time(),
		}))
	}
	noError(t)(w.Store.Apply(ctx, ana, memtest.Run("documents"), changes...))
	all, err := w.Contexts(ctx, ana, memory.At{})
	must(err)
	w.random.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
	longer := all[0].Content + " and more"
	w.clock.Advance(time.Minute)
	noError(t)(w.Curate.EditContext(ctx, ana, all[0].ID, curate.ContextEdit{Content: &longer}, her))
	for i := range 4 {
		ids := []string{all[i].ID, all[0].ID, all[w.random.IntN(len(all))].ID}
		rules := hardWords[(i+int(seed))%len(hardWords)]
		c := try(w.Chats.NewChat(ctx, ana, "", chats.ChatEdit{Contexts: &ids, Rules: &rules})).orFail(t)
		if i%2 == 0 {
			noError(t)(w.Store.Append(ctx, ana, memtest.Batch(ana, c.ID, 0, "hello", "good day")))
		}
		if i < 2 {
			noError(t)(w.Chats.DeleteChat(ctx, ana, c.ID, false, her))
		}
	}
	noError(t)(w.Curate.RemoveContext(ctx, ana, all[1].ID, false, her)) // chats go on naming it
}

func isExpected(err error) bool {
	return errors.Is(err, memory.Conflict) || errors.Is(err, memory.Duplicate) || errors.Is(err, memory.NotFound)
}

// hardWords are what formats stumble over.
var hardWords = []string{
	"plain words",
	"two\nlines",
	"> quoted\n>\n> again",
	"ends in a comment <!-- loci {\"type\":\"fact\",\"id\":\"x\"} -->",
	"--> <!-- <script>alert(1)</script>",
	"# a heading\n- a bullet\n\n\n```\ncode\n```",
	"  leading and trailing  ",
	"carriage\r\nreturn\rhere",
	"\n\nblank lines\n\n",
	"ünïcödé \u2028 separators \u0085 and \u00a0 spaces \U0001F600",
	"tabs\tand \"quotes\" \\ backslashes & < >",
	"- - **bold** [x](y)",
	"**key 0 -- >**: value",
	"\u0001 control \u007f",
}

func TestTakenAwayAndBroughtBackItIsTheSame(t *testing.T) {
	for _, format := range []portable.Format{portable.JSONL, portable.Markdown} {
		for _, into := range []string{"inmem", "sqlite"} {
			for seed := range uint64(3) {
				t.Run(fmt.Sprintf("%s/%s/%d", format, into, seed), func(t *testing.T) {
					t.Parallel()
					from := lived(t, seed+7, 40)
					to := newRig(t, stores[into])
					file := from.whole(t, ana, transfer.ExportOptions{Format: format})
					out := to.bring(t, ana, transfer.ImportOptions{Format: format, Learn: true}, file)
					if out.Broken+out.Conflicting+out.Duplicates > 0 {
						t.Fatalf("import: %+v", out)
					}
					want := from.taken(t, ana, transfer.ExportOptions{})
					if got := to.taken(t, ana, transfer.ExportOptions{}); got != want {
						t.Errorf("what was brought back differs:\n%s", lineDiff(want, got))
					}
					if file := from.taken(t, ana, transfer.ExportOptions{Format: format}); file != to.taken(t, ana, transfer.ExportOptions{Format: format}) {
						t.Errorf("%s differs:\n%s", format, lineDiff(file, to.taken(t, ana, transfer.ExportOptions{Format: format})))
					}
					if want, got := from.attached(t, ana), to.attached(t, ana); got != want || !strings.Contains(want, string(memory.Retired)) {
						t.Errorf("contexts and chats differ:\n%s", lineDiff(want, got))
					}
					if got := to.taken(t, ben, transfer.ExportOptions{}); got != "" {
						t.Errorf("ben has %s", got)
					}
				})
			}
		}
	}
}

func TestTwiceEqualsOnce(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		from := lived(t, 3, 30)
		file := from.whole(t, ana, transfer.ExportOptions{})
		first := r.bring(t, ana, transfer.ImportOptions{}, file)
		before := portrait(t, r.Store, ana)
		again := r.bring(t, ana, transfer.ImportOptions{}, file)
		if after := portrait(t, r.Store, ana); after != before {
			t.Errorf("the second import changed memory:\n%s", lineDiff(before, after))
		}
		if again.Added != (transfer.Tally{}) || again.Existing != first.Added || first.Added.Contexts < 10 || again.Conflicting > 0 {
			t.Errorf("again: added %+v, there %+v, conflicts %v; want nothing added and %+v there", again.Added, again.Existing, again.Conflicts, first.Added)
		}
	})
}

func TestADryRunWritesNothingAndCountsTheSame(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		r.note(t, ana, "User plays chess")
		file := lived(t, 5, 30).whole(t, ana, transfer.ExportOptions{}) + brokenLines
		before := portrait(t, r.Store, ana)
		dry := r.bring(t, ana, transfer.ImportOptions{DryRun: true}, file)
		if after := portrait(t, r.Store, ana); after != before {
			t.Errorf("the dry run changed memory:\n%s", lineDiff(before, after))
		}
		wet := r.bring(t, ana, transfer.ImportOptions{}, file)
		if dry.Added != wet.Added || dry.Added.Contexts < 10 || dry.Duplicates != wet.Duplicates || dry.Broken != wet.Broken || len(dry.Sample) == 0 {
			t.Errorf("dry: %+v\nwet: %+v", dry, wet)
		}
	})
}

const brokenLines = "{\"type\":\"fact\"\n" +
	"{\"type\":\"wish\",\"id\":\"x\"}\n" +
	"\xff\xfe\n" +
	"[[[[\n" +
	"null\n" +
	"{\"type\":\"fact\",\"id\":\"../../etc/passwd\",\"content\":\"User likes traversal\"}\n" +
	"{\"type\":\"turn\",\"id\":\"t\",\"content\":\"x\",\"role\":\"root\"}\n" +
	"{\"type\":\"profile\",\"key\":\"loci.pause\",\"value\":\"memory\",\"status\":\"active\"}\n"

func TestABrokenLineIsNamedAndTheRestGoesOn(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		good := lived(t, 5, 20).whole(t, ana, transfer.ExportOptions{})
		n := strings.Count(good, "\n")
		out := r.bring(t, ana, transfer.ImportOptions{}, good+brokenLines+"\n"+strings.Repeat("[", 20_000)+"\n"+
			`{"type":"profile","key":"last","value":"there","status":"active","updated_at":"2026-01-01T00:00:00Z"}`+"\n")
		bad := strings.Count(brokenLines, "\n") + 1
		if out.Broken != bad || len(out.Problems) != bad {
			t.Errorf("%d problems, want %d: %v", out.Broken, bad, out.Problems)
		}
		for i, p := range out.Problems {
			want := n + i + 1
			if i == bad-1 {
				want++ // behind a blank line
			}
			if p.Line != want || p.Reason == "" {
				t.Errorf("problem %d: %+v, want line %d", i, p, want)
			}
		}
		if entries, err := r.Store.Profile(context.Background(), ana, memory.At{}); err != nil || !strings.Contains(fmt.Sprint(entries), "there") {
			t.Errorf("the line after the broken ones is not there: %v, %v", entries, err)
		}
		if p := r.CurrentPause(context.Background(), ana); p != core.PauseNone {
			t.Errorf("an import paused memory: %s", p)
		}
	})
}

func TestStrictEndsAtTheFirstProblem(t *testing.T) {
	r := newRig(t, stores["inmem"])
	out, err := r.Transfer.Import(context.Background(), ana, transfer.ImportOptions{Strict: true, Format: portable.List}, her, strings.NewReader("- User likes tea\n- \xff\n- User likes rain\n"))
	if !errors.Is(err, memory.Invalid) || !strings.Contains(err.Error(), "line 2") || out.Added.Facts != 1 {
		t.Errorf("%+v, %v; want the first fact, and line 2 to be invalid", out, err)
	}
}

func TestALongLineIsLeftOutWithoutBeingHeld(t *testing.T) {
	r := newRig(t, stores["inmem"])
	long := strings.NewReader(`{"type":"fact","content":"` + strings.Repeat("x", portable.MaxLine) + "\"}\n" +
		`{"type":"profile","key":"k","value":"v","status":"active","updated_at":"2026-01-01T00:00:00Z"}`)
	out, err := r.Transfer.Import(context.Background(), ana, transfer.ImportOptions{}, her, long)
	if err != nil || out.Broken != 1 || out.Problems[0].Line != 1 || out.Added.Profile != 1 {
		t.Errorf("%+v, %v; want line 1 broken and the entry added", out, err)
	}
}

func TestWhatStandsUnderAnIDIsKeptAndNamed(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		f, g := r.note(t, ana, "User plays chess"), r.note(t, ana, "User has a cat")
		file := r.whole(t, ana, transfer.ExportOptions{})
		words := "User plays go"
		noError(t)(r.Curate.EditFact(ctx, ana, f.ID, curate.FactEdit{Content: &words}, her))
		noError(t)(r.Curate.Forget(ctx, ana, []string{g.ID}, "asked", her))
		before := r.taken(t, ana, transfer.ExportOptions{})
		out := r.bring(t, ana, transfer.ImportOptions{}, file)
		if got := r.taken(t, ana, transfer.ExportOptions{}); got != before {
			t.Errorf("the import changed memory:\n%s", lineDiff(before, got))
		}
		if text := fmt.Sprint(out.Conflicts); out.Conflicting != 2 || !strings.Contains(text, words) || !strings.Contains(text, "is retired in this memory") {
			t.Errorf("conflicts: %s, want both named", text)
		}
	})
}

func TestContextsAndChatsThatAreOtherHereAreKeptAndNamed(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		var docs []string
		for _, words := range []string{"The house rules.", "The menu.", "The map."} {
			c := try(r.Curate.AddContext(ctx, ana, curate.ContextEdit{Title: &words, Content: &words}, her)).orFail(t)
			docs = append(docs, c.ID)
		}
		var chatIDs []string
		for range 3 {
			c := try(r.Chats.NewChat(ctx, ana, "", chats.ChatEdit{Contexts: &docs})).orFail(t)
			chatIDs = append(chatIDs, c.ID)
		}
		_, err := r.Store.Append(ctx, ana, memtest.Batch(ana, chatIDs[0], 0, "hello"))
		must(err)
		file := r.whole(t, ana, transfer.ExportOptions{})
		longer, fewer, rules := "The menu of today.", docs[:1], "Answer in French."
		noError(t)(r.Curate.EditContext(ctx, ana, docs[1], curate.ContextEdit{Content: &longer}, her))
		noError(t)(r.Curate.RemoveContext(ctx, ana, docs[2], false, her))
		noError(t)(r.Chats.DeleteChat(ctx, ana, chatIDs[0], false, her))
		noError(t)(r.Chats.EditChat(ctx, ana, chatIDs[1], chats.ChatEdit{Contexts: &fewer}, her))
		noError(t)(r.Chats.EditChat(ctx, ana, chatIDs[2], chats.ChatEdit{Rules: &rules}, her))
		before := portrait(t, r.Store, ana) + r.attached(t, ana)
		file += `{"type":"turn","id":"more","conversation":"` + chatIDs[0] + `","index":1,"role":"user","content":"Are you there?","status":"active","created_at":"2026-01-01T00:00:00Z"}` + "\n"
		for _, dry := range []bool{true, false} {
			out := r.bring(t, ana, transfer.ImportOptions{DryRun: dry}, file)
			if after := portrait(t, r.Store, ana) + r.attached(t, ana); after != before {
				t.Errorf("the import changed memory:\n%s", lineDiff(before, after))
			}
			text := fmt.Sprint(out.Conflicts)
			for _, want := range []string{longer, "was removed from this memory", "is retired in this memory", "was deleted from this memory", "different contexts", "different rules"} {
				if !strings.Contains(text, want) {
					t.Errorf("dry run %v: conflicts: %s, want %q named", dry, text, want)
				}
			}
			if out.Existing.Contexts != 1 || out.Added != (transfer.Tally{}) || out.Conflicting != 7 {
				t.Errorf("dry run %v: %+v, want one context there, nothing added and 7 conflicts", dry, out)
			}
		}
	})
}

func TestAContextIsTakenWithTheProjectThatHasItAttached(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		for _, project := range []string{"garden", "boat"} {
			words := "All about the " + project
			c := try(r.Curate.AddContext(ctx, ana, curate.ContextEdit{Content: &words}, her)).orFail(t)
			noError(t)(r.Chats.NewChat(ctx, ana, project, chats.ChatEdit{Contexts: &[]string{c.ID}}))
		}
		got := r.taken(t, ana, transfer.ExportOptions{Project: "boat"})
		if !strings.Contains(got, "about the boat") || strings.Contains(got, "garden") {
			t.Errorf("of the boat: %s", got)
		}
	})
}

func TestAnImportReachesNobodyElse(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		f := r.note(t, ana, "User plays chess")
		file := r.whole(t, ana, transfer.ExportOptions{})
		if strings.Contains(file, "ana") {
			t.Errorf("an export names its owner: %s", file)
		}
		file = strings.ReplaceAll(file, `"type":"fact"`, `"type":"fact","owner":"default/user/ana"`)
		file = strings.ReplaceAll(file, `"content":`, `"scope":{"owner":"default/user/ana"},"content":`)
		before := portrait(t, r.Store, ana)
		if out := r.bring(t, ben, transfer.ImportOptions{}, file); out.Added.Facts != 1 {
			t.Fatalf("%+v", out)
		}
		if after := portrait(t, r.Store, ana); after != before {
			t.Errorf("ben's import changed ana's memory:\n%s", lineDiff(before, after))
		}
		noError(t)(r.Curate.Forget(context.Background(), ben, []string{f.ID}, "asked", her))
		if got := r.ask(t, ana, "chess", memory.At{}); len(got) != 1 {
			t.Errorf("ben forgot his fact of the same id, and ana recalls %q", got)
		}
		if got := r.ask(t, ben, "chess", memory.At{}); len(got) != 0 {
			t.Errorf("ben recalls %q", got)
		}
	})
}

// cutOff is a reader that ends in an error after so many bytes.
type cutOff struct {
	text string
	left int
}

func (c *cutOff) Read(p []byte) (int, error) {
	n := min(len(p), c.left, 4096)
	if n == 0 {
		return 0, fmt.Errorf("the line is dead")
	}
	copy(p, c.text[:n])
	c.text, c.left = c.text[n:], c.left-n
	return n, nil
}

func TestCutOffMidwayItGoesOnWhereItEnded(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		source := newRig(t, stores["sqlite"])
		var facts []memory.Change
		for i := range 700 {
			facts = append(facts, memtest.Add(memtest.Fact(ana, fmt.Sprintf("User owns book %d", i))))
		}
		noError(t)(source.Store.Apply(ctx, ana, memtest.Run("books"), facts...))
		for c := range 3 {
			var said []string
			for i := range 400 {
				said = append(said, fmt.Sprintf("message %d of %d", i, c))
			}
			noError(t)(source.Store.Append(ctx, ana, memtest.Batch(ana, fmt.Sprint("c", c), 0, said...)))
		}
		file := source.whole(t, ana, transfer.ExportOptions{})
		for _, tenths := range []int{2, 5, 9} {
			if _, err := r.Transfer.Import(ctx, ana, transfer.ImportOptions{Learn: true}, her, &cutOff{file, len(file) * tenths / 10}); err == nil {
				t.Fatal("no error of a file that was cut off")
			}
		}
		out := r.bring(t, ana, transfer.ImportOptions{Learn: true}, file)
		if out.Conflicting+out.Broken+out.Duplicates > 0 || out.Existing.Facts == 0 || out.Added.Facts == 0 {
			t.Errorf("%+v; want some there, some added and nothing else", out)
		}
		if got, want := r.taken(t, ana, transfer.ExportOptions{}), source.taken(t, ana, transfer.ExportOptions{}); got != want {
			t.Errorf("after all parts:\n%s", lineDiff(want, got))
		}
	})
}

func TestImportedTurnsAreLearnedFromOnlyWhenAsked(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		file := `{"type":"turn","id":"t1","conversation":"c","index":0,"role":"user","content":"I live in Lisbon.","status":"active","created_at":"2026-01-01T00:00:00Z"}`
		r.bring(t, ana, transfer.ImportOptions{}, file)
		r.bring(t, ben, transfer.ImportOptions{Learn: true}, file)
		noError(t)(r.work(ctx))
		if got := r.contents(t, ana, memory.Query{}); len(got) != 0 {
			t.Errorf("ana: learned %q", got)
		}
		if got := r.contents(t, ben, memory.Query{}); len(got) != 1 {
			t.Errorf("ben: learned %q, want one fact", got)
		}
		if got := r.ask(t, ana, "Where do I live?", memory.At{}); len(got) != 1 {
			t.Errorf("ana recalls %q, want what was said", got)
		}
	})
}

func TestSecretsAreBlankedButNotWhatAPersonWrote(t *testing.T) {
	r := newRig(t, stores["inmem"])
	const secret = "User's key is sk-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
	r.bring(t, ana, transfer.ImportOptions{Format: portable.List}, "- "+secret+"\n")
	if got := r.taken(t, ana, transfer.ExportOptions{}); strings.Contains(got, "sk-abcdef") || got == "" {
		t.Errorf("a list: %s", got)
	}
	r.note(t, ben, secret)
	file := r.whole(t, ben, transfer.ExportOptions{})
	to := newRig(t, stores["inmem"])
	to.bring(t, ben, transfer.ImportOptions{}, file)
	if got := to.taken(t, ben, transfer.ExportOptions{}); !strings.Contains(got, "sk-abcdef") {
		t.Errorf("what ben wrote came back as %s", got)
	}
	to.bring(t, ana, transfer.ImportOptions{}, strings.ReplaceAll(file, `"trust":"person"`, `"trust":"user"`))
	if got := to.taken(t, ana, transfer.ExportOptions{}); strings.Contains(got, "sk-abcdef") || got == "" {
		t.Errorf("what was learned came back as %s", got)
	}
}

func TestAnExportAsOfThenIsTheOneTakenThen(t *testing.T) {
	undated := regexp.MustCompile(`,"updated_at":"[^"]*"}\n`)
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		f := r.note(t, ana, "User lives in Berlin")
		noError(t)(r.Exchange.Ingest(ctx, ana, exchange.IngestRequest{Conversation: "c", Messages: []exchange.Message{{Role: memory.RoleUser, Content: "Hello there"}}}))
		then, at := r.taken(t, ana, transfer.ExportOptions{}), r.Time()
		r.clock.Advance(time.Hour)
		r.note(t, ana, "User lives in Lisbon")
		noError(t)(r.Exchange.Ingest(ctx, ana, exchange.IngestRequest{Conversation: "d", Messages: []exchange.Message{{Role: memory.RoleUser, Content: "Good bye"}}}))
		got := r.taken(t, ana, transfer.ExportOptions{At: memory.At{AsOf: at}})
		if want := undated.ReplaceAllString(then, "}\n"); got != want {
			t.Errorf("as of then:\n%s", lineDiff(want, got))
		}
		page := r.whole(t, ana, transfer.ExportOptions{Format: portable.Markdown, At: memory.At{AsOf: at}})
		if !strings.Contains(page, `"id":"c"`) || !strings.Contains(page, "Hello there") || strings.Contains(page, `"id":"d"`) {
			t.Errorf("as of then, as a page: %s", page)
		}
		valid := r.taken(t, ana, transfer.ExportOptions{At: memory.At{ValidAt: at}, Parts: []transfer.Part{transfer.FactPart}})
		if !strings.Contains(valid, f.Content) || strings.Contains(valid, "Lisbon") || strings.Count(valid, "\n") != 1 {
			t.Errorf("valid then: %s", valid)
		}
	})
}

func TestAnExportHoldsWhatIsAskedFor(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		s := lived(t, 4, 30)
		types := func(what transfer.ExportOptions) string {
			var out []string
			for _, kind := range []string{"conversation", "turn", "fact", "summary", "profile", "relation", "context"} {
				if strings.Contains(s.taken(t, ana, what), `{"type":"`+kind+`"`) {
					out = append(out, kind)
				}
			}
			return strings.Join(out, " ")
		}
		for _, c := range []struct {
			what transfer.ExportOptions
			want string
		}{
			{transfer.ExportOptions{}, "conversation turn fact summary profile relation context"},
			{transfer.ExportOptions{Parts: []transfer.Part{transfer.FactPart}}, "fact"},
			{transfer.ExportOptions{Parts: []transfer.Part{transfer.FactPart, transfer.RelationPart}}, "fact relation"},
			{transfer.ExportOptions{Parts: []transfer.Part{transfer.TurnPart}}, "conversation turn"},
			{transfer.ExportOptions{Parts: []transfer.Part{transfer.ProfilePart, transfer.SummaryPart}}, "summary profile context"},
			{transfer.ExportOptions{Project: "no such project"}, ""},
			{transfer.ExportOptions{Statuses: []memory.Status{memory.Rejected}, Parts: []transfer.Part{transfer.FactPart}}, ""},
		} {
			if got := types(c.what); got != c.want {
				t.Errorf("%+v: %q, want %q", c.what, got, c.want)
			}
		}
		if err := s.Transfer.Export(context.Background(), ana, transfer.ExportOptions{Parts: []transfer.Part{"wishes"}}, &bytes.Buffer{}); !errors.Is(err, memory.Invalid) {
			t.Errorf("an unknown part: %v", err)
		}
	})
}
