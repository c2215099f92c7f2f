package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/lessons"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/internal/model/embed"
	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/internal/store/inmem"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// stores are what every scene runs on.
var stores = map[string]func(t testing.TB, now func() time.Time) memory.Store{
	"inmem": func(_ testing.TB, now func() time.Time) memory.Store {
		return inmem.Open(inmem.Options{Now: now})
	},
	"sqlite": func(t testing.TB, now func() time.Time) memory.Store {
		return newSQLite(t, filepath.Join(t.TempDir(), "loci.db"), now)
	},
}

// emptySQLite is the file of a store in which nothing is. To make its tables takes longer
// than most rules, above all under the race detector.
var emptySQLite = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "empty-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is in memory by then
	file := filepath.Join(dir, "loci.db")
	s, err := sqlstore.OpenSQLite(context.Background(), file, sqlstore.Options{})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
})

// newSQLite opens a store in a file that is not there yet.
func newSQLite(t testing.TB, file string, now func() time.Time) *sqlstore.Store {
	t.Helper()
	empty := try(emptySQLite()).orFail(t)
	noError(t)(os.WriteFile(file, empty, 0o600))
	return try(sqlstore.OpenSQLite(context.Background(), file, sqlstore.Options{Now: now})).orFail(t)
}

// TestScenes plays testdata/scenes/*.txt: whole behaviours, a step a line.
//
//	user NAME: TEXT            NAME says TEXT in their current chat; what is due is learned
//	reply TEXT                 what the assistant answers from now on ("OK." at first)
//	new chat NAME              their next message begins another chat
//	named chat NAME: ID        which the client names
//	open NAME: A | B           NAME's chat is what it was when it said A and B, the last again
//	retry NAME                 their last request comes again
//	llm PROMPT: REPLY          the model's next reply to that prompt; the first makes there be a model
//	at +3d | +2h               time passes
//	ask NAME: TEXT             asks memory; "expect hit" is about this
//	remember NAME: TEXT        a person writes a fact down
//	remember NAME in P: TEXT   which holds in project P
//	restore NAME: TEXT         a person brings back the fact of these words
//	forget NAME: TEXT          a person forgets the fact of these words
//	erase NAME: TEXT           a person erases what the text means
//	undo NAME                  a person takes the run of their last change back
//	edit NAME: TEXT            NAME's last message is edited to say TEXT
//	edit NAME N: TEXT          NAME's N-th message of the chat is, and what followed is gone
//	amend NAME N: TEXT         the N-th message of NAME's chat, theirs or an answer, reads so
//	                           from now on, and what followed is kept
//	correct NAME: OLD | NEW    a person gives the fact of these words other ones
//	drop NAME: N               NAME's client leaves out the first N messages from now on
//	approve NAME: TEXT         a person lets the pending fact of these words in
//	reject NAME: TEXT          or refuses it
//	relearn NAME               all that NAME said is learned from again
//	pause NAME: WHAT           none, learning or memory
//	mode WORD                  memory_mode of all chats from now on
//	set KEY: VALUE             a setting of learning, from now on; see options
//	restart                    the program ends and begins again on the same store
//	as of -2d ask NAME: TEXT   asks what memory believed two days ago
//	expect facts NAME: A | B   exactly these are active, in any order
//	expect STATUS NAME: A | B  exactly these have the status
//	expect confidence NAME: N TEXT  the one active fact of these words is that sure
//	expect summary NAME: TEXT  the one active summary has TEXT in it
//	expect no summary NAME: TEXT  no active summary has
//	expect hit N: TEXT         the N-th hit says TEXT
//	expect any hit: TEXT       one of the hits says TEXT
//	expect no hit: TEXT        no hit has TEXT in it
//	expect nothing             there are no hits
//	expect block: TEXT         what the last chat was given has TEXT in it
//	expect no block: TEXT      and this one not
func TestScenes(t *testing.T) {
	files, err := filepath.Glob("testdata/scenes/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenes: %v", err)
	}
	for _, file := range files {
		for name, open := range stores {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txt")+"/"+name, func(t *testing.T) {
				t.Parallel()
				script := try(os.ReadFile(file)).orFail(t)
				s := newScene(t, open)
				for i, line := range strings.Split(string(script), "\n") {
					if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
						continue
					}
					if err := s.step(line); err != nil {
						t.Fatalf("%s:%d: %s\n%v", file, i+1, line, err)
					}
				}
			})
		}
	}
}

// rig is an engine on a store, with a clock that tests move.
type rig struct {
	*Engine
	clock *memtest.Clock
	llm   *memtest.LLM
}

func newRig(t testing.TB, open func(testing.TB, func() time.Time) memory.Store) *rig {
	t.Helper()
	clock := &memtest.Clock{}
	store := open(t, clock.Now)
	embedder := embed.Lexical{}
	ix := index.New(store, index.Options{Model: embedder.Fingerprint()})
	e := New(core.Parts{
		Store: store, Searcher: ix, Embedder: embedder, Prompts: prompt.Default(),
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Now: clock.Now, WakeJobRunner: func() {},
	}, core.Options{
		TopK: 8, BlockTokens: 1500, ScoreThreshold: -1, RecencyWeight: 0.2, Deadline: 10 * time.Second,
		LearnAfter: core.AfterExchange, LearnModel: "m", LearnByRules: true, MaxTextBytes: 1 << 20,
	})
	t.Cleanup(func() {
		e.Close()
		if err := errors.Join(ix.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	return &rig{Engine: e, clock: clock}
}

// work does what is due, as the job runner would.
func (r *rig) work(ctx context.Context) error {
	handlers := map[memory.JobKind]jobs.Handler{memory.JobLearn: r.Lessons.Learn, memory.JobUpkeep: r.Upkeep.HandleUpkeep, memory.JobRelearn: r.Lessons.HandleRelearn, memory.JobSummarize: r.Lessons.Summarize, memory.JobShare: r.Share.PropagateShares, memory.JobErase: r.Erase.ResumeErasure}
	kinds := slices.Sorted(maps.Keys(handlers))
	for {
		job, err := r.Store.Claim(ctx, kinds, time.Minute)
		if errors.Is(err, memory.NotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		end, err := handlers[job.Kind](ctx, job)
		var off *jobs.PutOff
		if errors.As(err, &off) {
			if err := r.Store.Finish(ctx, job.Lease, memory.Outcome{Deferred: true, RetryAt: off.Until}); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", job.Kind, err)
		}
		if end == jobs.Nothing {
			if err := r.Store.Finish(ctx, job.Lease, memory.Outcome{Done: true}); err != nil {
				return err
			}
		}
	}
}

// play does the steps of a script.
func play(t *testing.T, s *scene, script string) {
	t.Helper()
	for i, line := range strings.Split(script, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		if err := s.step(line); err != nil {
			t.Fatalf("%d: %s\n%v", i+1, line, err)
		}
	}
}

type scene struct {
	*rig
	chats map[string][]chatMessage // the current chat of each person
	names map[string]string        // what the client calls it, "" for nothing
	reply string
	hits  []memory.Hit
	block string
	mode  string
	idle  bool              // nothing is learned meanwhile
	last  map[string]string // the last run of each person
}

type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func newScene(t *testing.T, open func(testing.TB, func() time.Time) memory.Store) *scene {
	return &scene{rig: newRig(t, open), chats: map[string][]chatMessage{}, names: map[string]string{}, reply: "OK.", last: map[string]string{}}
}

func (s *scene) step(line string) error {
	ctx := context.Background()
	head, rest, _ := strings.Cut(line, ":")
	rest = strings.TrimSpace(rest)
	verb, name, _ := strings.Cut(strings.TrimSpace(head), " ")
	owner := memory.User(memory.DefaultNamespace, name)
	author := memory.Author{Kind: memory.ByPerson, Name: name}
	switch verb {
	case "user":
		return s.say(ctx, name, rest)
	case "reply":
		s.reply = strings.TrimPrefix(line, "reply ")
	case "new", "named":
		name = strings.TrimPrefix(name, "chat ")
		delete(s.chats, name)
		s.names[name] = rest
	case "open":
		for said := range strings.SplitSeq(rest, " | ") {
			s.chats[name] = append(s.chats[name], chatMessage{"user", said}, chatMessage{"assistant", s.reply})
		}
		s.chats[name] = s.chats[name][:len(s.chats[name])-1]
		return s.exchange(ctx, name)
	case "retry":
		chat := s.chats[name]
		s.chats[name] = chat[:len(chat)-1]
		return s.exchange(ctx, name)
	case "edit":
		name, place, _ := strings.Cut(name, " ")
		chat := s.chats[name]
		from := len(chat) - 2
		if place != "" {
			n, err := strconv.Atoi(place)
			if err != nil || n < 1 || 2*n > len(chat) {
				return fmt.Errorf("there is no message %q", place)
			}
			from = 2 * (n - 1)
		}
		s.chats[name] = append(chat[:from:from], chatMessage{"user", rest})
		return s.exchange(ctx, name)
	case "amend":
		name, place, _ := strings.Cut(name, " ")
		n, err := strconv.Atoi(place)
		if err != nil || n < 1 || n > len(s.chats[name]) {
			return fmt.Errorf("there is no message %q", place)
		}
		s.chats[name][n-1].Content = rest
	case "erase":
		_, _, err := s.Curate.ForgetMatching(ctx, owner, curate.ForgetRequest{Query: rest, Erase: true}, author)
		return err
	case "correct":
		return s.correct(ctx, owner, rest, author)
	case "drop":
		n, err := strconv.Atoi(rest)
		if err != nil {
			return err
		}
		s.chats[name] = s.chats[name][n:]
	case "approve", "reject":
		return s.decide(ctx, owner, memory.Action(verb), rest, author)
	case "relearn":
		if _, err := s.Lessons.Relearn(ctx, owner, lessons.RelearnOptions{}); err != nil {
			return err
		}
		return s.work(ctx)
	case "pause":
		return s.SetPause(ctx, owner, core.Pause(rest), "", author)
	case "mode":
		s.mode = name
	case "set":
		return s.set(name, rest)
	case "restart":
		s.Close()
		s.Engine = New(s.Parts, s.Opts)
	case "as":
		span, who, _ := strings.Cut(strings.TrimPrefix(name, "of "), " ask ")
		then, err := span2time(s.Time(), span)
		if err != nil {
			return err
		}
		found, err := s.Retrieve.Recall(ctx, retrieve.Question{Scope: memory.Scope{Owner: memory.User(memory.DefaultNamespace, who)}, Text: rest, At: memory.At{AsOf: then}, API: "scene"})
		s.hits = found.Hits
		return err
	case "llm":
		if s.llm == nil {
			s.llm = memtest.NewLLM()
			s.LLM = s.llm
		}
		s.llm.Add(memtest.ScriptLine{Prompt: name, Text: rest})
	case "at":
		return s.pass(name)
	case "ask":
		found, err := s.Retrieve.Recall(ctx, retrieve.Question{Scope: memory.Scope{Owner: owner}, Text: rest, API: "scene"})
		s.hits = found.Hits
		return err
	case "remember":
		who, project, _ := strings.Cut(name, " in ")
		_, _, err := s.Curate.Remember(ctx, memory.User(memory.DefaultNamespace, who), curate.FactInput{Content: rest, Project: project}, author)
		return err
	case "restore":
		page, err := s.List(ctx, owner, memory.Query{Text: rest, Statuses: []memory.Status{memory.Superseded, memory.Retired, memory.Rejected}})
		if err != nil || len(page.Memories) != 1 {
			return fmt.Errorf("%d facts have these words (%v)", len(page.Memories), err)
		}
		_, err = s.Curate.Restore(ctx, owner, page.Memories[0].ID(), "", author)
		return err
	case "forget":
		return s.forget(ctx, owner, rest, author)
	case "undo":
		page, err := s.Changes(ctx, owner, memory.ChangeQuery{Limit: 1})
		if err != nil {
			return err
		}
		_, err = s.Curate.Undo(ctx, owner, curate.UndoRequest{RunID: page.Changes[0].Run}, author)
		return err
	case "expect":
		return s.expect(ctx, name, rest)
	default:
		return fmt.Errorf("no such step: %s", verb)
	}
	return nil
}

func (s *scene) pass(span string) error {
	then, err := span2time(s.Time(), span)
	if err != nil {
		return err
	}
	s.clock.Advance(then.Sub(s.Time()))
	return s.work(context.Background())
}

// span2time returns the time at "+3d", "-2h" or "+20m" from now.
func span2time(now time.Time, span string) (time.Time, error) {
	n, err := strconv.Atoi(strings.TrimRight(span, "dhm"))
	if err != nil {
		return time.Time{}, err
	}
	units := map[byte]time.Duration{'d': 24 * time.Hour, 'h': time.Hour, 'm': time.Minute}
	return now.Add(time.Duration(n) * units[span[len(span)-1]]), nil
}

// set changes a setting.
func (s *scene) set(key, value string) error {
	if key == "learn.reply" {
		s.Prompts = s.Prompts.WithForm(prompt.Form(value))
		return nil
	}
	o := &s.Opts
	into := map[string]any{
		"review.confidence": &o.Learn.Review.MinConfidence, "review.categories": &o.Learn.Review.Categories, "review.conflicts": &o.Learn.Review.Conflicts,
		"upkeep.user": &o.Learn.Upkeep.UserLimit, "upkeep.conversation": &o.Learn.Upkeep.ConversationLimit,
		"learn.after": &o.LearnAfter, "learn.assistant": &o.LearnFromAssistant, "learn.personal": &o.Learn.RedactPersonal,
		"learn.every": &o.Learn.MessagesPerLesson, "learn.exchanges": &o.Learn.FirstExchange, "learn.idle": &o.Learn.IdleTime,
		"spending.tokens": &o.Learn.Spending.DailyTokenLimit,
		"summaries.every": &o.Learn.Summary.EveryExchanges, "learn.rules": &o.LearnByRules,
	}[key]
	if into == nil {
		return fmt.Errorf("no such setting: %s", key)
	}
	return json.Unmarshal([]byte(value), into)
}

func (s *scene) decide(ctx context.Context, owner memory.Owner, action memory.Action, words string, author memory.Author) error {
	page, err := s.List(ctx, owner, memory.Query{Text: words, Statuses: []memory.Status{memory.Pending}})
	if err != nil || len(page.Memories) != 1 {
		return fmt.Errorf("%d pending facts have these words (%v)", len(page.Memories), err)
	}
	_, _, err = s.Curate.Judge(ctx, owner, []curate.Judgement{{ID: page.Memories[0].ID(), Action: action}}, "", author)
	return err
}

func (s *scene) say(ctx context.Context, name, text string) error {
	s.chats[name] = append(s.chats[name], chatMessage{"user", text})
	return s.exchange(ctx, name)
}

// exchange sends the person's chat as it is now, and does what is due.
func (s *scene) exchange(ctx context.Context, name string) error {
	if err := s.send(ctx, name); err != nil || s.idle {
		return err
	}
	return s.work(ctx)
}

func (s *scene) send(ctx context.Context, name string) error {
	body, err := json.Marshal(map[string]any{"model": "m", "messages": s.chats[name]})
	if err != nil {
		return err
	}
	chat, err := chatapi.Decode(body)
	if err != nil {
		return err
	}
	x := s.Exchange.Open(ctx, exchange.Incoming{Owner: memory.User(memory.DefaultNamespace, name), Chat: chat, ChatID: s.names[name], IdempotencyKey: fmt.Sprint(len(s.chats[name])), Extras: chatapi.Extras{Mode: s.mode}})
	s.block = x.Prepare(ctx).Block
	x.RecordQuestion(ctx)
	x.RecordAnswer(ctx, chatapi.Answer{Role: memory.RoleAssistant, Text: s.reply, Digest: chatapi.Digest(memory.RoleAssistant, s.reply, "", "")})
	s.chats[name] = append(s.chats[name], chatMessage{"assistant", s.reply})
	return nil
}

func (s *scene) forget(ctx context.Context, owner memory.Owner, words string, author memory.Author) error {
	page, err := s.List(ctx, owner, memory.Query{Text: words})
	if err != nil || len(page.Memories) != 1 {
		return fmt.Errorf("%d facts have these words (%v)", len(page.Memories), err)
	}
	_, err = s.Curate.Forget(ctx, owner, []string{page.Memories[0].ID()}, "a person asked", author)
	return err
}

func (s *scene) correct(ctx context.Context, owner memory.Owner, words string, author memory.Author) error {
	before, after, _ := strings.Cut(words, " | ")
	page, err := s.List(ctx, owner, memory.Query{Text: before})
	if err != nil || len(page.Memories) != 1 {
		return fmt.Errorf("%d facts have these words (%v)", len(page.Memories), err)
	}
	_, err = s.Curate.EditFact(ctx, owner, page.Memories[0].ID(), curate.FactEdit{Content: &after}, author)
	return err
}

func (s *scene) expect(ctx context.Context, what, want string) error {
	switch first, name, _ := strings.Cut(what, " "); {
	case first == "hit":
		n, err := strconv.Atoi(name)
		if err != nil || n < 1 || n > len(s.hits) || s.hits[n-1].Memory.Content() != want {
			return fmt.Errorf("hits are:\n%s", s.shown())
		}
	case what == "any hit":
		if !slices.ContainsFunc(s.hits, func(h memory.Hit) bool { return h.Memory.Content() == want }) {
			return fmt.Errorf("hits are:\n%s", s.shown())
		}
	case what == "no hit":
		for _, h := range s.hits {
			if strings.Contains(h.Memory.Content(), want) {
				return fmt.Errorf("hits are:\n%s", s.shown())
			}
		}
	case what == "nothing":
		if len(s.hits) > 0 {
			return fmt.Errorf("hits are:\n%s", s.shown())
		}
	case what == "block", what == "no block":
		if strings.Contains(s.block, want) != (what == "block") {
			return fmt.Errorf("the block is:\n%s", s.block)
		}
	case first == "confidence":
		page, err := s.List(ctx, memory.User(memory.DefaultNamespace, name), memory.Query{})
		if err != nil {
			return err
		}
		var have []string
		for _, m := range page.Memories {
			have = append(have, fmt.Sprintf("%.4f %s", m.Fact.Confidence, m.Content()))
		}
		if !slices.Contains(have, want) {
			return fmt.Errorf("there are: %s", strings.Join(have, " | "))
		}
	case first == "summary", strings.HasPrefix(what, "no summary "):
		return s.expectSummary(ctx, strings.TrimPrefix(what, "no "), want, first == "summary")
	default:
		return s.expectFacts(ctx, first, name, want)
	}
	return nil
}

func (s *scene) expectSummary(ctx context.Context, what, want string, there bool) error {
	owner := memory.User(memory.DefaultNamespace, strings.TrimPrefix(what, "summary "))
	page, err := s.List(ctx, owner, memory.Query{Kinds: []memory.Kind{memory.KindSummary}})
	if err != nil {
		return err
	}
	all := ""
	for _, m := range page.Memories {
		all += m.Summary.Model + ":\n" + m.Summary.Text + "\n"
	}
	if strings.Contains(all, want) != there || there && len(page.Memories) != 1 {
		return fmt.Errorf("there are %d summaries:\n%s", len(page.Memories), all)
	}
	return nil
}

func (s *scene) shown() string {
	var b strings.Builder
	for i, h := range s.hits {
		fmt.Fprintf(&b, "  %d  %.3f  %s  %s  %v\n", i+1, h.Score, h.Memory.Kind(), h.Memory.Content(), h.Why)
	}
	return b.String()
}

func (s *scene) expectFacts(ctx context.Context, status, name, want string) error {
	q := memory.Query{Statuses: []memory.Status{memory.Status(status)}, Limit: 500}
	if status == "facts" {
		q.Statuses = []memory.Status{memory.Active}
	}
	page, err := s.List(ctx, memory.User(memory.DefaultNamespace, name), q)
	if err != nil {
		return err
	}
	var have, wanted []string
	for _, m := range page.Memories {
		have = append(have, m.Content())
	}
	for part := range strings.SplitSeq(want, "|") {
		if part = strings.TrimSpace(part); part != "" {
			wanted = append(wanted, part)
		}
	}
	slices.Sort(have)
	slices.Sort(wanted)
	if !slices.Equal(have, wanted) {
		return fmt.Errorf("there are: %s", strings.Join(have, " | "))
	}
	return nil
}
