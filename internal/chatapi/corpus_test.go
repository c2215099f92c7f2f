package chatapi

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/tidwall/gjson"
)

var update = flag.Bool("update", false, "write what the requests become into their files")

// block is injected throughout: it needs every kind of escape.
const block = "Stored memory:\n- \"Ana\" lives in Berlin \\ <b> \u2028 é 😀"

var placements = []Placement{Tail, System, User}

// TestOddRequests checks what is read of each request of testdata/odd, and the bytes for the
// upstream without memory and in each placement.
func TestOddRequests(t *testing.T) {
	files, err := filepath.Glob("testdata/odd/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no requests: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			want := try(txtar.ParseFile(file)).orFail(t)
			body := want.Files[0].Data
			c, err := Decode(body)
			if err != nil {
				t.Fatalf("Decode(%s): %v", body, err)
			}
			got := &txtar.Archive{Files: []txtar.File{want.Files[0]}}
			add := func(name string, data []byte) {
				got.Files = append(got.Files, txtar.File{Name: name, Data: data})
			}
			add("read", read(c))
			add("bare.json", c.WithoutExtras())
			checkBare(t, c)
			for _, p := range placements {
				add(string(p)+".json", c.WithBlock(block, p))
				checkWith(t, c, block, p)
			}
			hold(t, file, want, got)
		})
	}
}

// hold compares the results for a request with its file, or writes them there.
func hold(t *testing.T, file string, want, got *txtar.Archive) {
	t.Helper()
	if *update {
		noError(t)(os.WriteFile(file, txtar.Format(got), 0o644))
		return
	}
	if diff := cmp.Diff(string(txtar.Format(want)), string(txtar.Format(got))); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// seed adds a folder's requests to a fuzz target.
func seed(f *testing.F, folder string) {
	f.Helper()
	files := try(filepath.Glob("testdata/" + folder + "/*.txtar")).orFail(f)
	for _, file := range files {
		a := try(txtar.ParseFile(file)).orFail(f)
		f.Add(a.Files[0].Data, "block")
	}
}

// read describes a parsed request.
func read(c *Chat) []byte {
	var b bytes.Buffer
	extras, err := json.Marshal(c.Extras)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(&b, "model %q, user %q, stream %t, extras %s\n", c.Model, c.User, c.Stream, extras)
	for _, m := range c.Messages {
		fmt.Fprintf(&b, "%s %q", m.Role, m.Text)
		if m.ToolCalls {
			fmt.Fprintf(&b, ", calls %q", m.callIDs)
		}
		if m.callID != "" {
			fmt.Fprintf(&b, ", answers %q", m.callID)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "question %q, last user %d, tool loop %t\n", c.Question(2), c.LastUser(), c.InToolLoop())
	return b.Bytes()
}

// checkBare reports whether only Loci's fields were removed.
func checkBare(t testing.TB, c *Chat) {
	t.Helper()
	bare := c.WithoutExtras()
	if !json.Valid(bare) {
		t.Errorf("request %s\nbare is not JSON: %s", c.body, bare)
	}
	if len(c.removals) == 0 {
		if len(bare) > 0 && &bare[0] != &c.body[0] {
			t.Errorf("request %s\nbare is a copy, want the same slice", c.body)
		}
		return
	}
	var kept, left []string
	for _, f := range topMembers(c.body) {
		if !isExtraField(f.name) {
			kept = append(kept, f.name+f.value.Raw)
		}
	}
	for _, f := range topMembers(bare) {
		left = append(left, f.name+f.value.Raw)
	}
	if diff := cmp.Diff(kept, left); diff != "" {
		t.Errorf("request %s\nbare %s\nmembers (-want +got):\n%s", c.body, bare, diff)
	}
	if !subsequence(bare, c.body) {
		t.Errorf("request %s\nbare %s\nis not the request with bytes left out", c.body, bare)
	}
}

// checkWith reports whether the request with a block is the bare one with one insertion, and reads
// as the same messages.
func checkWith(t testing.TB, c *Chat, block string, p Placement) {
	t.Helper()
	bare, with := c.WithoutExtras(), c.WithBlock(block, p)
	if c.LastUser() < 0 || block == "" {
		if !bytes.Equal(bare, with) {
			t.Errorf("%s of %s without a user or a block: got %s", p, c.body, with)
		}
		return
	}
	if p == User && bytes.Equal(bare, with) && c.Messages[c.LastUser()].Text == "" {
		return // nothing that the block could stand in front of
	}
	front := 0
	for front < len(bare) && bare[front] == with[front] {
		front++
	}
	back := 0
	for back < len(bare)-front && bare[len(bare)-1-back] == with[len(with)-1-back] {
		back++
	}
	if front+back != len(bare) {
		t.Fatalf("%s of %s\ngot %s\nmore than one insertion", p, c.body, with)
	}
	if !json.Valid(with) {
		t.Fatalf("%s of %s is not JSON: %s", p, c.body, with)
	}
	if !bytes.Contains(with, []byte(escapeInString(block))) {
		t.Errorf("%s of %s\ngot %s\nwithout the block", p, c.body, with)
	}
	again, err := Decode(with)
	if err != nil {
		t.Fatalf("%s of %s does not decode: %v", p, c.body, err)
	}
	last, lastNow := c.Messages[c.LastUser()], again.Messages[again.LastUser()]
	if p != User && last.Digest != lastNow.Digest {
		t.Errorf("%s of %s changed the last user message: %s", p, c.body, with)
	}
	if p == User && !strings.Contains(lastNow.Text, last.Text) {
		t.Errorf("%s of %s lost the user's words: %s", p, c.body, with)
	}
}

func topMembers(body []byte) []member { return members(gjson.ParseBytes(body)) }

// subsequence reports whether a is b with bytes left out.
func subsequence(a, b []byte) bool {
	for _, x := range a {
		i := bytes.IndexByte(b, x)
		if i < 0 {
			return false
		}
		b = b[i+1:]
	}
	return true
}
