package chatapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/loci-memory/loci/memory"
)

// typed are the dialects except chat completions, by the folder of their requests.
var typed = map[string]*Dialect{"messages": Messages, "responses": Responses}

// TestDialectRequests checks what is read of each request, and the bytes for the upstream without
// memory and in each placement.
func TestDialectRequests(t *testing.T) {
	for folder, dialect := range typed {
		files, err := filepath.Glob("testdata/" + folder + "/*.txtar")
		if err != nil || len(files) == 0 {
			t.Fatalf("no requests: %v", err)
		}
		for _, file := range files {
			t.Run(folder+"/"+strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { checkRequest(t, dialect, file) })
		}
	}
}

func checkRequest(t *testing.T, dialect *Dialect, file string) {
	want := try(txtar.ParseFile(file)).orFail(t)
	c, err := dialect.Decode(want.Files[0].Data)
	if err != nil {
		t.Fatalf("Decode(%s): %v", want.Files[0].Data, err)
	}
	got := &txtar.Archive{Files: []txtar.File{want.Files[0], {Name: "read", Data: read(c)}, {Name: "bare.json", Data: c.WithoutExtras()}}}
	checkBare(t, c)
	for _, p := range placements {
		got.Files = append(got.Files, txtar.File{Name: string(p) + ".json", Data: c.WithBlock(block, p)})
		checkPut(t, dialect, c, block, p)
	}
	hold(t, file, want, got)
}

// checkPut reports whether a request with a block is the bare one with insertions only, is JSON,
// and reads as the same messages with the block in the system prompt or in the last user message.
func checkPut(t testing.TB, dialect *Dialect, c *Chat, block string, p Placement) {
	t.Helper()
	bare, with := c.WithoutExtras(), c.WithBlock(block, p)
	if !c.canInsertBlock(p) || block == "" {
		if !bytes.Equal(bare, with) {
			t.Errorf("%s of %s without a user or a block: got %s", p, c.body, with)
		}
		return
	}
	if bytes.Equal(bare, with) {
		if last := c.LastUser(); last >= 0 && c.Messages[last].textSpan.isSet() {
			t.Errorf("%s of %s: the block has no place", p, c.body)
		}
		return
	}
	for _, e := range c.blockEditsFor(Block{block, c.LastUser(), Unplaced}, p) {
		if taken := c.body[e.from:e.to]; len(taken) > 0 && string(taken) != "null" {
			t.Errorf("%s of %s takes out %s", p, c.body, taken)
		}
	}
	if !json.Valid(with) {
		t.Fatalf("%s of %s is not JSON: %s", p, c.body, with)
	}
	if !bytes.Contains(with, []byte(escapeInString(block))) {
		t.Errorf("%s of %s\ngot %s\nwithout the block", p, c.body, with)
	}
	again, err := dialect.Decode(with)
	if err != nil {
		t.Fatalf("%s of %s does not decode: %v", p, c.body, err)
	}
	checkSame(t, c, again, block, p)
}

// checkSame reports whether only the system messages and the user's last message differ, which must
// keep its text. After a cache breakpoint the block may be within the user's text, or in a message
// of its own.
func checkSame(t testing.TB, before, after *Chat, block string, p Placement) {
	t.Helper()
	messagesOf := func(c *Chat) (out []Message) {
		for _, m := range c.Messages {
			if m.Role != memory.RoleSystem {
				out = append(out, m)
			}
		}
		return out
	}
	was, is := messagesOf(before), messagesOf(after)
	if before.cachedPrefix.end > 0 && len(is) > len(was) {
		is = slices.DeleteFunc(is, func(m Message) bool { return m.Role == memory.RoleUser && m.Text == block })
	}
	if len(was) != len(is) {
		t.Fatalf("%s of %s makes %d messages of %d: %s", p, before.body, len(is), len(was), after.body)
	}
	for i := range was {
		words := is[i].Text
		if before.cachedPrefix.end > 0 && !strings.Contains(words, was[i].Text) {
			words = strings.Replace(words, block+"\n", "", 1)
		}
		switch {
		case i != LastUser(was):
			if was[i].Digest != is[i].Digest {
				t.Errorf("%s of %s changes message %d: %s", p, before.body, i, after.body)
			}
		case !strings.Contains(words, was[i].Text):
			t.Errorf("%s of %s lost the user's words: %s", p, before.body, after.body)
		}
	}
}

func FuzzDialects(f *testing.F) {
	for folder := range typed {
		seed(f, folder)
	}
	f.Fuzz(func(t *testing.T, body []byte, block string) {
		for _, dialect := range typed {
			c, err := dialect.Decode(body)
			if err != nil {
				if !errors.Is(err, memory.Invalid) {
					t.Errorf("Decode(%q): got %v, want invalid", body, err)
				}
				continue
			}
			checkBare(t, c)
			for _, p := range placements {
				checkPut(t, dialect, c, strings.ToValidUTF8(block, "?"), p)
			}
			IsFrontEndTask(c)
			if _, err := dialect.ReadAnswer(body); err != nil && !errors.Is(err, memory.Invalid) {
				t.Errorf("ReadAnswer(%q): got %v, want invalid", body, err)
			}
		}
	})
}

func FuzzDialectStreams(f *testing.F) {
	for _, streams := range dialectStreams {
		for _, s := range streams {
			if len(s.stream) <= maxEndEventBytes { // longer ones leave no time for others
				f.Add([]byte(s.stream), uint8(3))
			}
		}
	}
	f.Fuzz(func(t *testing.T, stream []byte, size uint8) {
		for _, dialect := range typed {
			whole, cut, g := dialect.NewStream(), dialect.NewStream(), dialect.NewGate()
			write(whole, string(stream), len(stream))
			write(cut, string(stream), int(size)+1)
			if diff := cmp.Diff(whole.Answer(), cut.Answer()); diff != "" {
				t.Errorf("%q in pieces of %d (-whole +cut):\n%s", stream, int(size)+1, diff)
			}
			if got := pass(g, string(stream), int(size)+1) + string(g.TakeWithheld()); got != string(stream) {
				t.Errorf("%q in pieces of %d: got %q", stream, int(size)+1, got)
			}
		}
	})
}

// dialectStreams are streams and their answers.
var dialectStreams = map[*Dialect][]dialectStream{Messages: messagesStreams, Responses: responsesStreams}

type dialectStream struct {
	name, stream, last string // last is what the gate holds
	want               Answer
}

func TestDialectStreams(t *testing.T) {
	for dialect, streams := range dialectStreams {
		for _, test := range streams {
			test.want.Role = memory.RoleAssistant
			test.want.Digest = Digest(test.want.Role, test.want.Text, test.want.ToolCalls, "")
			for size := 1; size <= len(test.stream); size = size*2 + 1 {
				s, g := dialect.NewStream(), dialect.NewGate()
				write(s, test.stream, size)
				if diff := cmp.Diff(test.want, s.Answer()); diff != "" {
					t.Errorf("%s in pieces of %d (-want +got):\n%s", test.name, size, diff)
				}
				passed := pass(g, test.stream, size)
				if g.Ended() != (test.last != "") {
					t.Errorf("%s in pieces of %d: ended %t", test.name, size, g.Ended())
				}
				if held := string(g.TakeWithheld()); passed+held != test.stream || g.Ended() && held != test.last {
					t.Errorf("%s in pieces of %d: held %q, want %q", test.name, size, held, test.last)
				}
			}
		}
	}
}
