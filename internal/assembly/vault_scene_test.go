package assembly

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/files"
	"github.com/loci-memory/loci/internal/engine/share"
	vaultstore "github.com/loci-memory/loci/internal/store/vault"
	"github.com/loci-memory/loci/internal/vaultsync"
	"github.com/loci-memory/loci/memory"
)

// TestVaultScenes plays testdata/vault/*.txt, a step a line. A fact, turn or document is called by
// the words that it had first; " | " separates several.
//
//	vault KEY=VALUE …          how the vault is opened, as the first step
//	each NAME: A || B          plays the scene with A and with B for $NAME
//	remember WORDS             a person writes facts down; "remember many" writes twenty
//	record WORDS               said in a chat, and not learned; "say WORDS" is learned
//	profile KEY: VALUE         context TITLE: WORDS
//	forget WORDS; correct WORDS: NEW; relate WORDS: KIND OTHER
//	share WORDS: NAME; delete chat; erase user
//	undo                       takes the run of the last change back
//	note WORDS                 remembers path and text of the files, as an editor does that has them open
//	save WORDS: OLD => NEW     writes the noted text, changed so; "&&" separates several
//	edit WORDS: OLD => NEW     the same with the text of now, and looks
//	delete, put WORDS          removes the file; writes what was noted where it lay
//	bin, unbin WORDS           moves the file to what is deleted; moves it back
//	rename WORDS: NAME         copy WORDS: PATH      new PATH: TEXT      remove PATH      make PATH
//	break WORDS: HOW           makes the file unreadable
//	look, look confirm         takes over what files say, and writes what they lack
//	settle, stop, start        lose PATH removes it while stopped; work does what jobs do, once a start
//	git ARGUMENTS              commit NAME commits all by git
//	mark                       remembers what there is, for "expect unchanged" and "expect runs N"
//	expect STATUS WORDS        active, pending, superseded, retired, rejected, or ended: not active or pending
//	expect says WORDS: NEW     expect json WORDS: TEXT     expect facts N
//	expect back WORDS          the file lies where it was noted; expect binned, kept WORDS: among the deleted or not
//	expect text WORDS: TEXT    expect anywhere TEXT        expect nowhere TEXT
//	expect doctor: A | B       finds so many things, that say A and B; "expect doctor" finds nothing
//	expect last WORDS: ACTION: WHY   by a file
//	expect related WORDS: N    expect recall USER N: QUESTION    expect shared WORDS: NAMES    expect offered USER: WORDS
//
// {WORDS} stands for the name of a file, without its end, and \n, \r for line ends.
func TestVaultScenes(t *testing.T) {
	playScenes(t, "testdata/vault/*.txt", func(t *testing.T, script string) func(at, line string) {
		if strings.Contains(script, "vault_git=true") || strings.Contains(script, "git ") {
			needGit(t)
		}
		s := &vaultScene{t: t, dir: t.TempDir(), ids: map[string]string{}, noted: map[string][2]string{}}
		t.Cleanup(func() {
			if s.l != nil {
				closed(t, s.l)
			}
		})
		return func(at, line string) {
			s.at = at
			s.step(line)
		}
	})
}

// playScenes plays each variant of scripts by the function that begin returns for it, a step a line.
func playScenes(t *testing.T, pattern string, begin func(t *testing.T, script string) func(at, line string)) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenes: %v", err)
	}
	for _, file := range files {
		for i, script := range variants(string(readFile(t, file))) {
			t.Run(fmt.Sprint(strings.TrimSuffix(filepath.Base(file), ".txt"), "/", i), func(t *testing.T) {
				t.Parallel()
				step := begin(t, script)
				for n, line := range strings.Split(script, "\n") {
					if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
						step(fmt.Sprintf("%s:%d: %s", file, n+1, line), line)
					}
				}
			})
		}
	}
}

// variants are the scenes that a script with "each" stands for.
func variants(script string) []string {
	for line := range strings.Lines(script) {
		if rest, is := strings.CutPrefix(line, "each "); is {
			name, options, _ := strings.Cut(strings.TrimSpace(rest), ": ")
			var all []string
			for option := range strings.SplitSeq(options, " || ") {
				one := strings.Replace(script, line, "# "+option+"\n", 1)
				all = append(all, variants(strings.ReplaceAll(one, "$"+name, option))...)
			}
			return all
		}
	}
	return []string{script}
}

func needGit(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
}

type vaultScene struct {
	t        *testing.T
	at       string // the step
	dir      string
	settings []string
	l        *Loci
	ids      map[string]string    // of facts and turns, by their first words
	noted    map[string][2]string // path and text
	marked   map[string]string
	runs     int
}

func (s *vaultScene) fail(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("%s\n%s", s.at, fmt.Sprintf(format, args...))
}

func (s *vaultScene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.fail("%v", err)
	}
}

// thing is the memory that had these words first, nil for what is none.
func (s *vaultScene) thing(words string) *memory.Memory {
	s.t.Helper()
	if s.ids[words] == "" {
		for id, is := range s.l.everything(s.t) {
			if strings.HasPrefix(is, words+": ") || strings.Contains(is, fmt.Sprintf("%q", words)) {
				s.ids[words] = id
			}
		}
	}
	if s.ids[words] == "" {
		return nil
	}
	m := try(s.l.engine.Get(s.t.Context(), userNamed("default"), s.ids[words])).orFail(s.t)
	return &m
}

func (s *vaultScene) file(words string) (path, text string) {
	s.t.Helper()
	if m := s.thing(words); m != nil {
		words = m.Content()
	}
	return s.l.settledFile(s.t, words)
}

func (s *vaultScene) note(words string) (path, text string) {
	s.t.Helper()
	if _, is := s.noted[words]; !is {
		path, text := s.file(words)
		s.noted[words] = [2]string{path, text}
	}
	return s.noted[words][0], s.noted[words][1]
}

// filled is a text of a script as a file has it.
func (s *vaultScene) filled(text string) string {
	for {
		before, rest, is := strings.Cut(text, "{")
		words, after, closes := strings.Cut(rest, "}")
		if !is || !closes {
			return strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\s`, " ").Replace(text)
		}
		path, _ := s.file(words)
		text = before + strings.TrimSuffix(filepath.Base(path), ".md") + after
	}
}

func (s *vaultScene) changed(text, changes string) string {
	s.t.Helper()
	for change := range strings.SplitSeq(changes, " && ") {
		was, is, _ := strings.Cut(change, "=>")
		was = s.filled(strings.TrimSpace(was))
		if !strings.Contains(text, was) {
			s.fail("%q is not in\n%s", was, text)
		}
		text = strings.ReplaceAll(text, was, s.filled(strings.TrimSpace(is)))
	}
	return text
}

func (s *vaultScene) write(path, text string) {
	s.t.Helper()
	s.must(errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)))
}

func (s *vaultScene) inVault(name string) string { return filepath.Join(s.dir, "vault", name) }

func (s *vaultScene) lastChange(target string) memory.Change {
	s.t.Helper()
	page, err := s.l.engine.Store.Changes(s.t.Context(), userNamed("default"), memory.ChangeQuery{Target: target, Limit: 1})
	if err != nil || len(page.Changes) == 0 {
		s.fail("no history of %q: %v", target, err)
	}
	return page.Changes[0]
}

func (s *vaultScene) git(args ...string) {
	s.t.Helper()
	noError(s.t)(vaultsync.RunGit(s.t.Context(), s.inVault(""), append([]string{"-c", "user.name=x", "-c", "user.email=x@localhost"}, args...)...))
}

func (s *vaultScene) step(line string) {
	s.t.Helper()
	ctx, owner := s.t.Context(), userNamed("default")
	head, value, _ := strings.Cut(line, ": ")
	verb, name, _ := strings.Cut(strings.TrimSuffix(head, ":"), " ")
	if verb == "vault" {
		for pair := range strings.FieldsSeq(name) {
			key, value, _ := strings.Cut(pair, "=")
			s.settings = append(s.settings, key, value)
		}
	}
	if s.l == nil {
		s.l = vaultAt(s.t, s.dir, s.settings...)
	}
	each := func(do func(words string)) {
		for words := range strings.SplitSeq(name, " | ") {
			do(words)
		}
	}
	switch verb {
	case "vault", "#":
	case "remember":
		if name == "many" {
			for i := range 20 {
				s.l.remember(s.t, fmt.Sprintf("User owns %c%c", 'a'+i, 'k'+i/2))
			}
			return
		}
		each(func(words string) { s.ids[words] = s.l.remember(s.t, words).ID })
	case "record":
		noError(s.t)(s.l.Record(ctx, "default", "chat", Message{Role: memory.RoleUser, Content: name}))
	case "say":
		s.l.say(s.t, name)
	case "profile":
		noError(s.t)(s.l.engine.SetProfileEntry(ctx, owner, name, value, byProgram))
	case "context":
		noError(s.t)(s.l.engine.Curate.AddContext(ctx, owner, curate.ContextEdit{Title: &name, Content: &value}, byProgram))
	case "forget":
		each(func(words string) {
			noError(s.t)(s.l.Forget(ctx, "default", s.thing(words).ID()))
		})
	case "correct":
		noError(s.t)(s.l.engine.Curate.EditFact(ctx, owner, s.thing(name).ID(), curate.FactEdit{Content: &value}, byProgram))
	case "relate":
		kind, other, _ := strings.Cut(value, " ")
		noError(s.t)(s.l.engine.Curate.Relate(ctx, owner, s.thing(name).ID(), s.thing(other).ID(), memory.RelationKind(kind), byProgram))
	case "share":
		noError(s.t)(s.l.engine.Share.Share(ctx, owner, s.thing(name).ID(), share.Request{Receiver: value, ByAdmin: true}, byProgram))
	case "erase":
		noError(s.t)(s.l.engine.Erase.EraseOwner(ctx, owner, memory.Author{Kind: memory.ByPerson, Name: "admin"}))
	case "undo":
		noError(s.t)(s.l.engine.Curate.Undo(ctx, owner, curate.UndoRequest{RunID: s.lastChange("").Run}, byProgram))
	case "note":
		each(func(words string) { delete(s.noted, words); s.note(words) })
	case "save":
		each(func(words string) { path, text := s.note(words); s.write(path, s.changed(text, value)) })
	case "edit":
		each(func(words string) { path, text := s.file(words); s.write(path, s.changed(text, value)) })
		s.look(false)
	case "delete":
		if name == "chat" {
			noError(s.t)(s.l.engine.Chats.DeleteChat(ctx, owner, "chat", false, byProgram))
			return
		}
		each(func(words string) { path, _ := s.note(words); s.must(os.Remove(path)) })
	case "put":
		each(func(words string) { path, text := s.note(words); s.write(path, text) })
	case "bin", "unbin":
		from, to := "/entries/", "/deleted/entries/"
		if verb == "unbin" {
			from, to = to, from
		}
		each(func(words string) {
			path, text := s.file(words)
			s.noted[words] = [2]string{strings.Replace(path, from, to, 1), text}
			s.write(s.noted[words][0], text)
			s.must(os.Remove(path))
		})
	case "rename":
		path, text := s.file(name)
		s.noted[name] = [2]string{filepath.Join(filepath.Dir(path), value), text}
		s.must(os.Rename(path, s.noted[name][0]))
	case "copy":
		_, text := s.file(name)
		s.write(s.inVault(value), text)
	case "new":
		s.write(s.inVault(name), s.filled(value)+"\n")
	case "remove":
		s.must(os.RemoveAll(s.inVault(name)))
	case "break":
		s.breakFile(name, value)
	case "look":
		s.look(name == "confirm")
	case "settle":
		s.must(s.l.vault.Store.Flush(ctx))
	case "work":
		s.l.during(s.t, func() { s.must(s.l.Settle(ctx)) })
	case "stop":
		closed(s.t, s.l)
	case "start":
		s.l = vaultAt(s.t, s.dir, s.settings...)
	case "lose":
		each(func(path string) { s.must(os.RemoveAll(filepath.Join(s.dir, path))) })
	case "git":
		s.git(strings.Fields(name)...)
	case "commit":
		s.must(s.l.vault.Store.Flush(ctx))
		s.git("add", "--all", ".")
		s.git("commit", "--quiet", "--allow-empty", "--message", name)
		s.git("branch", name)
	case "mark":
		s.marked, s.runs = s.l.everything(s.t), s.l.runs(s.t)
	case "expect":
		s.expect(name, value)
	default:
		s.fail("no such step")
	}
}

func (s *vaultScene) look(confirm bool) {
	s.t.Helper()
	s.l.look(s.t, vaultstore.ScanOptions{ConfirmDeletions: confirm})
	s.must(s.l.vault.Store.Flush(s.t.Context()))
}

func (s *vaultScene) breakFile(words, how string) {
	path, text := s.note(words)
	s.must(os.Remove(path))
	switch how {
	case "a folder":
		s.must(os.Mkdir(path, 0o700))
	case "a dead link":
		s.must(os.Symlink("/nowhere", path))
	case "no permission":
		s.must(os.WriteFile(path, []byte(text), 0))
	default:
		s.write(path, map[string]string{
			"no UTF-8": "---\nid: \xff\xfe\n---\n\xff\xff\n", "binary": strings.Repeat("\x00", 5000), "empty": "", "cut": text[:20], "cut behind a mark": "\ufeff" + text[:len(text)/2],
			"too long": text + strings.Repeat("\x00", 3<<20), "no words": strings.TrimSuffix(text, words+"\n"),
		}[how])
	}
}

func (s *vaultScene) expect(what, value string) {
	s.t.Helper()
	what, name, _ := strings.Cut(what, " ")
	all := strings.Split(name, " | ")
	switch what {
	case "active", "pending", "superseded", "retired", "rejected", "ended":
		for _, words := range all {
			if is := s.thing(words).Status(); string(is) != what && (what != "ended" || is.Live()) {
				s.fail("%q is %s", words, is)
			}
		}
	case "says":
		if got := s.thing(name).Content(); got != value {
			s.fail("it says %q", got)
		}
	case "json":
		text, err := json.Marshal(s.thing(name).Fact)
		if s.must(err); !strings.Contains(string(text), value) {
			s.fail("it is %s", text)
		}
	case "facts":
		if got := fmt.Sprint(s.l.facts(s.t)); got != name {
			s.fail("there are %s facts", got)
		}
	case "back", "binned", "kept":
		for _, words := range all {
			path, _ := s.file(words)
			if what == "back" && path != s.noted[words][0] || what != "back" && strings.Contains(path, "/deleted/") != (what == "binned") {
				s.fail("%q lies in %s", words, path)
			}
		}
	case "text":
		if _, text := s.file(name); !strings.Contains(text, s.filled(value)) {
			s.fail("the file says\n%s", text)
		}
	case "anywhere", "nowhere":
		if s.l.anywhere(s.t, name) != (what == "anywhere") {
			s.fail("it is not so")
		}
	case "doctor":
		told := s.l.findings(s.t, map[bool][]bool{true: {true}}[name == "confirm"]...)
		want := slices.DeleteFunc(strings.Split(value, " | "), func(s string) bool { return s == "" })
		for i, one := range want {
			if i >= len(told) || !slices.ContainsFunc(told, func(s string) bool { return strings.Contains(s, one) }) {
				s.fail("the doctor says %q", told)
			}
		}
		if len(told) != len(want) {
			s.fail("the doctor says %q", told)
		}
	case "last":
		if c := s.lastChange("fact:" + s.thing(name).ID()); string(c.Action)+": "+c.Reason != value || c.Author != files.ByFile {
			s.fail("%s by %s: %s", c.Action, c.Author.Name, c.Reason)
		}
	case "unchanged":
		is := s.l.everything(s.t)
		for id, was := range s.marked {
			if is[id] != was {
				s.fail("%s is\n%s\nand was\n%s", id, is[id], was)
			}
		}
		if len(is) != len(s.marked) {
			s.fail("there are %d memories, and were %d", len(is), len(s.marked))
		}
	case "runs":
		if got := fmt.Sprint(s.l.runs(s.t) - s.runs); got != name {
			s.fail("%s runs", got)
		}
	case "related":
		ties, err := s.l.engine.Store.Relations(s.t.Context(), userNamed("default"), s.thing(name).ID(), memory.At{})
		if s.must(err); fmt.Sprint(len(ties)) != value {
			s.fail("related: %+v", ties)
		}
	case "recall":
		user, count, _ := strings.Cut(name, " ")
		hits, err := s.l.Recall(s.t.Context(), user, value)
		if n, _ := strconv.Atoi(count); err != nil || len(hits) != n {
			s.fail("recalled %+v, %v", hits, err)
		}
	case "shared":
		with := try(s.l.engine.Share.Receivers(s.t.Context(), userNamed("default"), s.thing(name).ID())).orFail(s.t)
		var names []string
		for _, o := range with {
			names = append(names, o.DisplayName())
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != value {
			s.fail("it is shared with %q", got)
		}
	case "offered", "unseen":
		if what == "unseen" && s.l.sees(s.t, name, s.thing(value).ID()) || what == "offered" && !s.l.offered(s.t, name, s.thing(value).ID()) {
			s.fail("it is not so")
		}
	default:
		s.fail("no such step")
	}
}

// settledFile waits until the files are written and returns the one of a memory that says words.
func (l *Loci) settledFile(t *testing.T, words string) (path, text string) {
	t.Helper()
	noError(t)(l.vault.Store.Flush(context.Background()))
	err := filepath.WalkDir(l.vault.Store.Dir(), func(at string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(at) != ".md" || strings.Contains(at, ".conflict-") {
			return err
		}
		found, err := os.ReadFile(at)
		if strings.HasSuffix(string(found), "\n"+words+"\n") || string(found) == words+"\n" {
			path, text = at, string(found)
		}
		return err
	})
	if err != nil || path == "" {
		t.Fatalf("no file says %q: %v", words, err)
	}
	return path, text
}

func (l *Loci) look(t *testing.T, o vaultstore.ScanOptions) {
	t.Helper()
	noError(t)(l.vault.ScanAndApply(context.Background(), o))
}

func (l *Loci) findings(t *testing.T, confirm ...bool) []string {
	t.Helper()
	c := try(l.Doctor(context.Background(), len(confirm) > 0)).orFail(t)
	out := []string{}
	for _, f := range c.Findings {
		out = append(out, f.Path+": "+f.Problem+" "+f.Fix)
	}
	return out
}

// facts returns how many active facts the default user has.
func (l *Loci) facts(t *testing.T) int {
	t.Helper()
	page := try(l.engine.Store.List(t.Context(), userNamed("default"), memory.Query{Limit: 500})).orFail(t)
	return len(page.Memories)
}

// anywhere reports whether a file of the vault has a text.
func (l *Loci) anywhere(t *testing.T, words string) (found bool) {
	t.Helper()
	noError(t)(filepath.WalkDir(l.vault.Store.Dir(), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			found = found || strings.Contains(string(readFile(t, path)), words)
		}
		return err
	}))
	return found
}

// say says something in a chat, and waits until it is learned from, once a start.
func (l *Loci) say(t *testing.T, messages ...string) {
	t.Helper()
	ctx := context.Background()
	for _, words := range messages {
		noError(t)(l.Record(ctx, "default", "chat", Message{Role: memory.RoleUser, Content: words}))
	}
	l.during(t, func() {
		if err := l.runner.Drain(ctx); err != nil {
			t.Error(err)
		}
	})
}

// everything is how facts and turns stand, by their ids, but for when they were written.
func (l *Loci) everything(t *testing.T) map[string]string {
	t.Helper()
	all := []memory.Status{memory.Active, memory.Pending, memory.Superseded, memory.Replaced, memory.Retired, memory.Rejected}
	q := memory.Query{Kinds: []memory.Kind{memory.KindFact, memory.KindTurn}, Statuses: all, Limit: 500}
	page, err := l.engine.List(context.Background(), userNamed("default"), q)
	if err != nil || page.Next != "" {
		t.Fatalf("%d memories, and more: %v", len(page.Memories), err)
	}
	out := map[string]string{}
	for _, m := range page.Memories {
		if f := m.Fact; f != nil {
			f.UpdatedAt, f.Version = time.Time{}, 0
			text := try(json.Marshal(f)).orFail(t)
			out[f.ID] = string(text)
		} else {
			out[m.Turn.ID] = fmt.Sprintf("%s: %s", m.Turn.Content, m.Turn.Status)
		}
	}
	return out
}

// runs is how many runs the journal has.
func (l *Loci) runs(t *testing.T) int {
	t.Helper()
	page := try(l.engine.Changes(t.Context(), userNamed("default"), memory.ChangeQuery{Limit: 500})).orFail(t)
	runs := map[string]bool{}
	for _, c := range page.Changes {
		runs[c.Run] = true
	}
	return len(runs)
}

// sees reports whether a user is shown another's fact.
func (l *Loci) sees(t *testing.T, user, id string) bool {
	t.Helper()
	found := try(l.engine.Store.Get(context.Background(), userNamed(user), id)).orFail(t)
	return len(found) == 1 && found[0].Link != nil && found[0].Status() == memory.Active
}

// offered reports whether another's fact waits for a user, and lets them accept it.
func (l *Loci) offered(t *testing.T, user, id string) bool {
	t.Helper()
	author := memory.Author{Kind: memory.ByPerson, Name: user}
	_, _, err := l.engine.Curate.Judge(context.Background(), userNamed(user), []curate.Judgement{{ID: id, Action: memory.ActionApprove}}, "", author)
	return err == nil && l.sees(t, user, id)
}
