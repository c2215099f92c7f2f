package portable

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loci-memory/loci/memory"
)

var (
	ana = memory.User(memory.DefaultNamespace, "ana")
	day = time.Date(2026, 5, 3, 14, 0, 0, 0, time.UTC)
)

// everyKind returns a record of each kind with the words, in the order of a page.
func everyKind(words string) []Record {
	scope := memory.Scope{Owner: ana, Project: "p"}
	fact := func(id string, status memory.Status, category string) Record {
		return Record{Fact: &memory.Fact{
			ID: id, Scope: scope, Content: words, Category: category, Status: status, CreatedAt: day,
			Metadata: []byte(`{"k":"-->","n":[1,{"x":null}]}`),
		}}
	}
	return []Record{
		{Profile: &memory.ProfileEntry{Owner: ana, Key: "key -->", Value: words, Status: memory.Active, UpdatedAt: day}},
		{Context: &memory.Context{ID: "d", Owner: ana, Title: "## Facts", Content: words, Status: memory.Active, CreatedAt: day, UpdatedAt: day}},
		fact("f1", memory.Active, "a > b"),
		{Relation: &memory.Relation{Owner: ana, From: "f1", To: "f2", Kind: memory.Follows, Status: memory.Active, CreatedAt: day}},
		fact("f2", memory.Active, ""),
		fact("f3", memory.Retired, "## Facts"),
		{Conversation: &memory.Conversation{ID: "c", Owner: ana, Title: "Title <!-- loci {} -->", Status: memory.Active, CreatedAt: day, UpdatedAt: day}},
		{Summary: &memory.Summary{ID: "s", Scope: scope, Text: words, Status: memory.Active, CreatedAt: day}},
		{Turn: &memory.Turn{ID: "t", Owner: ana, Conversation: "c", Role: memory.RoleUser, Name: "A\nB", Content: words, Status: memory.Replaced, Chain: "x", CreatedAt: day}},
	}
}

func written(t *testing.T, to func(io.Writer) Writer, records []Record) string {
	t.Helper()
	var b bytes.Buffer
	w := to(&b)
	if err := w.Write(Record{Header: NewHeader(day, memory.At{}, "")}); err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// read returns a file's records without their lines.
func read(t *testing.T, format Format, file string) []Record {
	t.Helper()
	var got []Record
	err := Reader{
		Owner:    ana,
		DeriveID: func(parts ...string) string { return strings.Join(parts, "/") },
		OnRecord: func(r Record) error { r.Line, r.Size = 0, 0; got = append(got, r); return nil },
		OnError:  func(line int, err error) error { return fmt.Errorf("line %d: %w", line, err) },
	}.Read(format, strings.NewReader(file))
	if err != nil {
		t.Fatalf("%v in\n%s", err, file)
	}
	return got
}

func TestWrittenRecordsAreReadUnchanged(t *testing.T) {
	for _, words := range []string{
		"plain words", "two\nlines", "> quoted\n>\n> again", "--> <!-- <script>", "# a heading\n- a bullet\n\n\n```\ncode\n```",
		"  leading and trailing  ", "carriage\r\nreturn\rhere", "\n\nblank lines\n\n", "\u2028 separators \u0085 and \u00a0 spaces",
		`ends in a comment <!-- loci {"type":"fact","id":"x"} -->`, "**key -- >**: value", "\\u003e and \\\\u003e",
	} {
		want := everyKind(words)
		for format, to := range map[Format]func(io.Writer) Writer{JSONL: NewJSONLWriter, Markdown: NewMarkdownWriter} {
			if diff := cmp.Diff(want, read(t, format, written(t, to, want))); diff != "" {
				t.Errorf("%s of %q (-want +got):\n%s", format, words, diff)
			}
		}
	}
}

func TestEachPartOfAZipIsAFileOfItsOwn(t *testing.T) {
	files := func(facts bool, records []Record) map[string]string {
		file := written(t, func(out io.Writer) Writer { return NewZipWriter(out, facts) }, records)
		z, err := zip.NewReader(strings.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]string{}
		for _, f := range z.File {
			in, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(in)
			if err != nil {
				t.Fatal(err)
			}
			all[f.Name] = string(text)
		}
		return all
	}
	records := everyKind("User likes tea")
	talk := records[len(records)-3:]
	namesake := *talk[0].Conversation
	namesake.ID = "c2"
	got := files(true, append(records, Record{Conversation: &namesake}))
	for name, want := range map[string]int{
		"profile.md": 1, "contexts.md": 1, "facts.md": 4,
		"conversations/2026-05-03 title-loci.md": 3, "conversations/2026-05-03 title-loci (2).md": 1,
	} {
		if n := len(read(t, Markdown, got[name])); n != want || !strings.HasPrefix(got[name], "<!-- loci {\"type\":\"header\"") {
			t.Errorf("%s has %d records, want %d behind a header:\n%s", name, n, want, got[name])
		}
	}
	if len(got) != 5 {
		t.Errorf("%d files, want 5", len(got))
	}
	if got := files(true, talk); len(got) != 2 || got["facts.md"] == "" {
		t.Errorf("without a fact: %v, want a file of facts nevertheless", got)
	}
	if got := files(false, talk); len(got) != 1 {
		t.Errorf("where no facts were asked for: %v, want the conversation alone", got)
	}
}

func TestPageOrdersFactsByStatusAndCategory(t *testing.T) {
	var groups []FactGroup
	for _, f := range []memory.Fact{
		{ID: "no category", Status: memory.Active}, {Status: memory.Rejected}, {Status: memory.Superseded, Category: "a"},
		{Status: memory.Active, Category: "b"}, {Status: memory.Active, Category: "a"}, {Status: memory.Retired}, {Status: memory.Pending},
	} {
		groups = append(groups, FactGroupOf(&f))
	}
	slices.SortFunc(groups, FactGroup.Compare)
	if got, want := fmt.Sprint(groups), "[{0 a} {0 b} {0 } {1 } {2 a} {3 } {3 }]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestFormatIsDetectedByContent(t *testing.T) {
	for name, c := range map[string]struct{ head, want string }{
		"a.txt":   {"- User likes tea", "list"},
		"b.md":    {"# Facts\n- x <!-- loci {} -->", "markdown"},
		"c.json":  {`[{"title":"x","mapping":{}}]`, "chatgpt"},
		"k.json":  {"[\n {\"uuid\":\"x\",\n \"chat_messages\":[]}]", "claude"},
		"d.json":  {"\ufeff {\"results\":[{\"memory\":\"x\"}]}", "mem0"},
		"e.md":    {"---\ntitle: x\n---\n", "basic-memory"},
		"f.md":    {"---\nid: x\nconversation_id: y\n---\n", "agent-cli"},
		"g":       {`{"type":"fact"}`, "jsonl"},
		"h.jsonl": {"", "jsonl"},
	} {
		if got := FormatOf(name, []byte(c.head)); string(got) != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
