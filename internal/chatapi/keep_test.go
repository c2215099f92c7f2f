package chatapi

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// TestKeptBlocksStayInPlace sends a growing conversation. Each request has a block with its last
// user message and the earlier blocks: its bytes begin with those of the request before, as far as
// the client's own do.
func TestKeptBlocksStayInPlace(t *testing.T) {
	plain := func(wrap string, messages ...string) []string {
		var out []string
		for n := 1; n <= len(messages); n += 2 {
			out = append(out, fmt.Sprintf(wrap, strings.Join(messages[:n], ",")))
		}
		return out
	}
	talk := []string{
		`{"role":"user","content":"One?"}`, `{"role":"assistant","content":"1"}`,
		`{"role":"user","content":[{"type":"text","text":"Two?"}]}`, `{"role":"assistant","content":"2"}`, `{"role":"user","content":"Three?"}`,
	}
	items := []string{
		`{"role":"user","content":"One?"}`, `{"role":"assistant","content":"1"}`,
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"Two?"}]}`, `{"role":"assistant","content":"2"}`, `{"role":"user","content":"Three?"}`,
	}
	marked := codingChat()
	for i := range marked {
		marked[i] = strings.ReplaceAll(marked[i], `,"tools"`, `,"metadata":{},"tools"`)
	}
	for name, c := range map[string]struct {
		dialect  *Dialect
		requests []string
	}{
		"completions":     {Completions, plain(`{"model":"m","messages":[{"role":"system","content":"S"},%s]}`, talk...)},
		"messages":        {Messages, plain(`{"model":"m","system":"S","messages":[%s]}`, talk...)},
		"messages cached": {Messages, marked},
		"responses":       {Responses, plain(`{"model":"m","instructions":"S","input":[%s]}`, items...)},
	} {
		for _, p := range []Placement{Tail, User} {
			var kept []Block
			before := ""
			for i, body := range c.requests {
				chat := try(c.dialect.Decode([]byte(body))).orFail(t)
				last, fresh := chat.LastUser(), fmt.Sprintf("Stored memory %d", i)
				if chat.InToolLoop() {
					fresh = ""
				}
				with := string(chat.WithBlock(fresh, p, kept...))
				part := chat.BlockPart(p)
				if fresh != "" {
					if part == Unplaced {
						t.Fatalf("%s, %s, request %d: the block has no place in its message", name, p, i)
					}
					kept = append(kept, Block{fresh, last, part})
					again := string(chat.WithBlock("", p, kept...))
					if again != with {
						t.Errorf("%s, %s, request %d: put back it is\n%s\nnot\n%s", name, p, i, again, with)
					}
				}
				for _, b := range kept {
					if n := strings.Count(with, b.Text); n != 1 {
						t.Errorf("%s, %s, request %d: %q is there %d times", name, p, i, b.Text, n)
					}
				}
				bare := with
				for _, b := range kept {
					for _, form := range []string{`{"role":"system","content":"%s"},`, `{"type":"text","text":"%s"},`, `,{"type":"text","text":"%s"}`, `{"type":"input_text","text":"%s"},`, `%s\n\nCurrent message: `} {
						bare = strings.ReplaceAll(bare, fmt.Sprintf(form, b.Text), "")
					}
				}
				if strip(bare) != strip(body) {
					t.Errorf("%s, %s, request %d: without blocks it is\n%s\nnot\n%s", name, p, i, bare, body)
				}
				unmarked := strings.TrimRight(strings.ReplaceAll(with, mark, ""), "]}")
				if !strings.HasPrefix(unmarked, before) {
					t.Errorf("%s, %s, request %d:\n%s\ndoes not begin with\n%s", name, p, i, unmarked, before)
				}
				before = unmarked
			}
		}
	}
}

// strip turns a list of one text part into that text: a block may have made parts of it.
func strip(body string) string { return oneText.ReplaceAllString(body, "$1") }

var oneText = regexp.MustCompile(`\[\{"type":"text","text":("[^"]*")\}\]`)

// TestBlockBehindATextThatWasAPart: a client marks its last message as a part, and later sends it
// as a string.
func TestBlockBehindATextThatWasAPart(t *testing.T) {
	chat := try(Messages.Decode([]byte(`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":[{"type":"text","text":"c"` + mark + `}]}]}`))).orFail(t)
	if part := chat.BlockPart(Tail); part != 1 {
		t.Errorf("the new block is before part %d", part)
	}
	want := `{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"OLD"}]},{"role":"assistant","content":"b"},{"role":"user","content":[{"type":"text","text":"c"` + mark + `},{"type":"text","text":"NEW"}]}]}`
	if got := string(chat.WithBlock("NEW", Tail, Block{"OLD", 0, 1})); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestBlockOutsideItsMessageHasNoPlace: in a tool loop it is after the last breakpoint.
func TestBlockOutsideItsMessageHasNoPlace(t *testing.T) {
	requests := codingChat()
	chat := try(Messages.Decode([]byte(requests[1]))).orFail(t)
	if got := chat.BlockPart(Tail); got != Unplaced {
		t.Errorf("got part %d", got)
	}
}
