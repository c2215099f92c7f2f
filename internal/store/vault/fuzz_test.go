package vault

import (
	"path"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

func TestNamesNeverMeetNorLeave(t *testing.T) {
	nasty := []string{
		"", ".", "..", "../x", "a/b", "a\\b", "A", "a", "CON", "con", "con.txt", "nul", "global", "Global", "a.", ".a", "a b", "é", "e\u0301", "a\x00b", "%", "%41",
		"x.md", "X.conflict-1", "x.conflict-1", strings.Repeat("é", 300), strings.Repeat("é", 299), strings.Repeat("a", 121), "\xff", "a:b", "a?b", "com1", "COM1",
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom(nasty), rapid.StringMatching(`[aA.%~/]{0,8}`))
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		name := escape(a)
		if a != b && strings.EqualFold(name, escape(b)) {
			t.Errorf("%q and %q are both %q", a, b, name)
		}
		if name == "" || len(name) > maxNameBytes || strings.ContainsAny(name, "/\\:*?\"<>|\x00 ") || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".") || name != strings.ToLower(name) {
			t.Errorf("%q is %q", a, name)
		}
		if back, ok := unescape(name); ok && back != a || !ok && !strings.Contains(name, "~") {
			t.Errorf("%q is %q and back %q, %v", a, name, back, ok)
		}
		if got := idInLink(linkTo(fileName(memtest.Epoch, a), a)); a != "" && got != a && !strings.HasPrefix(a, "[[") {
			t.Errorf("the link to %q is to %q", a, got)
		}
	})
}

// TestLinkToAnIDThatEndsAsAFileDoes, of which one ".md" is the id's own.
func TestLinkToAnIDThatEndsAsAFileDoes(t *testing.T) {
	for _, id := range []string{"x.md", "a.md.md", "notes.md"} {
		if link := linkTo(fileName(memtest.Epoch, id), id); idInLink(link) != id {
			t.Errorf("the link %s to %q is to %q", link, id, idInLink(link))
		}
	}
}

func TestPlacesAreReadBack(t *testing.T) {
	s := &Store{opts: Options{HomeOwner: memtest.Ana}, files: &fileWriter{latestVersions: map[memory.Owner]int64{}}}
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringN(1, 20, -1)
		namespace := rapid.SampledFrom([]string{memory.DefaultNamespace, "other", "../up"}).Draw(t, "namespace")
		owner := rapid.SampledFrom([]memory.Owner{memtest.Ana, memory.User(namespace, id.Draw(t, "user")), memory.Pool(namespace, id.Draw(t, "pool")), memory.Global(namespace)}).Draw(t, "owner")
		s.files.latestVersions[owner] = 1
		f := memtest.Fact(owner, "x")
		f.ID, f.Scope.Conversation = id.Draw(t, "id"), rapid.SampledFrom([]string{"", "global", "c", "a/../b"}).Draw(t, "conversation")
		f.Status = rapid.SampledFrom([]memory.Status{memory.Active, memory.Retired}).Draw(t, "status")
		folder, name := s.folderAndName(owner, showing(memory.FileContent{Fact: &f}))
		at := path.Join(folder, name+".md")
		if path.Clean("/"+at) != "/"+at {
			t.Fatalf("%q leaves the vault", at)
		}
		p, ok := s.parsePath(at)
		if !ok || p.owner != owner || p.deleted != (f.Status == memory.Retired) || p.folder != "facts" {
			t.Fatalf("%s of %s is read as %+v, %v", at, owner, p, ok)
		}
	})
}

// FuzzFile reads any text as a file and writes it anew: a memory's words come back
// byte for byte, and lines that are not Loci's stay.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{
		"", "words", "words\n", "---\n", "---\n---\n", "---\nid: x\n---\nwords\r\n", "\ufeff---\r\nid: x # y\r\nmine:\r\n  - a\r\n---\r\nwords",
		"---\n# only a comment\n---\n---\nnot front matter\n---\n", "---\ntags:\n- a\n- b\nx: |\n  id: y\n\n  z\nid: 'a'\n---\n\n\n", "---\n\"id\": x\nid: y\n? a\n: b\n---\n",
		"---\nid: \"x\ny\"\n---\n", "---\nid: [a,\nb]\nx: {id: y}\n---\n", "---\na: &a [*a]\n---\n", "---\nid:\n---\n", "---\nid: x\nid: y\n---\nw",
	} {
		f.Add(seed, "words\n")
	}
	f.Add("---\nid: x\n---\n", "---\nid: y\n---\r\n\x00\r\n")
	f.Fuzz(func(t *testing.T, file, words string) {
		if !utf8.ValidString(words) || !utf8.ValidString(file) {
			return
		}
		words = strings.TrimLeft(words, "\r\n") // they begin below empty lines
		fact := memtest.Fact(memtest.Ana, words)
		fact.Tags, fact.Subject = []string{words, "b"}, words
		ours := showing(memory.FileContent{Fact: &fact})
		fields := ours.fields(func(id string) string { return id })
		before := splitFile(file)
		out, ok := before.withFields(fields, words)
		if !ok {
			return // such a file is never written over: it is kept beside
		}
		text := out.String()
		p := parsedPath{owner: memtest.Ana, conversation: globalFolder, folder: "facts"}
		after := splitFile(text)
		got, err := p.parse(text, fileContent{})
		if err != nil {
			t.Fatalf("%v\n%q", err, text)
		}
		if got.Fact.Content != words || got.Fact.Subject != words || !slices.Equal(got.Fact.Tags, fact.Tags) || got.Fact.ID != fact.ID {
			t.Fatalf("written %q, read %q, %q, %q, %q from %q", words, got.Fact.Content, got.Fact.Subject, got.Fact.Tags, got.Fact.ID, text)
		}
		own := func(key string) bool { return slices.ContainsFunc(fields, func(f field) bool { return f.key == key }) }
		lines := func(front string) []string {
			all := slices.Collect(strings.Lines(front))
			_, entries, err := parseFront(front)
			if err != nil {
				t.Fatalf("%q: %v", front, err)
			}
			for _, e := range slices.Backward(entries) {
				if own(e.key) {
					all = slices.Delete(all, e.firstLine, e.endLine)
				}
			}
			return all
		}
		if before.hasFront && strings.Join(lines(before.front), "") != strings.Join(lines(after.front), "") {
			t.Fatalf("lines of others were %q and are %q", lines(before.front), lines(after.front))
		}
		if again, ok := after.withFields(fields, words); !ok || again.String() != text {
			t.Fatalf("written twice: %q, then %v %q", text, ok, again)
		}
	})
}

func TestTimesAreReadBack(t *testing.T) {
	got, ok := parseTime(timeOrEmpty(time.Date(2026, 1, 2, 3, 4, 5, 6000, time.FixedZone("", 3600))), time.Time{})
	if !ok || !got.Equal(time.Date(2026, 1, 2, 2, 4, 5, 6000, time.UTC)) {
		t.Errorf("got %v, %v", got, ok)
	}
}

// parse reads what a file at p says by itself: links are to the ids in them.
func (p parsedPath) parse(file string, base fileContent) (fileContent, error) {
	d, err := readDocument(file)
	if err != nil {
		return fileContent{}, err
	}
	return p.interpret(d, base, map[string]string{})
}
