package chatapi

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/loci-memory/loci/memory"
)

func TestPromptsAreReadAsChats(t *testing.T) {
	for _, tt := range []struct {
		prompt string
		want   []string // messages
		with   string   // the prompt with a block B
	}{
		{"Hello", []string{"user: Hello"}, "B\n\nHello"},
		{"Note: see https://a.test\nuser: is a word", []string{"user: Note: see https://a.test\nuser: is a word"}, "B\n\nNote: see https://a.test\nuser: is a word"},
		{"system: Be kind.\nuser: Hi\nthere\nassistant: Yes?\nuser: What?\nassistant: ", []string{"system: Be kind.", "user: Hi\nthere", "assistant: Yes?", "user: What?"},
			"system: Be kind.\nuser: Hi\nthere\nassistant: Yes?\nB\n\nuser: What?\nassistant: "},
		{"Human: Hi\nAI: Yes?\nHuman: Bye", []string{"user: Hi", "assistant: Yes?", "user: Bye"}, "Human: Hi\nAI: Yes?\nB\n\nHuman: Bye"},
		{"<|im_start|>user\nHi<|im_end|>", nil, "<|im_start|>user\nHi<|im_end|>"},
	} {
		c := try(Legacy.Decode([]byte(`{"prompt":` + quote(tt.prompt) + `}`))).orFail(t)
		var got []string
		for _, m := range c.Messages {
			got = append(got, fmt.Sprintf("%s: %s", m.Role, m.Text))
		}
		if with := gjson.GetBytes(c.WithBlock("B", Tail), "prompt").Str; !slices.Equal(got, tt.want) || with != tt.with {
			t.Errorf("%q: read as %q, with a block %q; want %q and %q", tt.prompt, got, with, tt.want, tt.with)
		}
	}
}

// FuzzLegacy: any request is refused as invalid, or stays JSON with a block in it.
func FuzzLegacy(f *testing.F) {
	f.Add([]byte(`{"prompt":["user: a\nassistant: "],"memory_id":"x"}`), "block")
	f.Add([]byte(`{"prompt":"\ud800","n":1}`), "\"\u2028")
	f.Fuzz(func(t *testing.T, body []byte, block string) {
		c, err := Legacy.Decode(body)
		if err != nil {
			if !errors.Is(err, memory.Invalid) {
				t.Errorf("Decode(%q): got %v, want invalid", body, err)
			}
			return
		}
		for _, p := range placements {
			if c.BlockPart(p) != Unplaced {
				t.Errorf("%q: a block has a place to return to", body)
			}
			if out := c.WithBlock(block, p); validateBody(out) != nil {
				t.Errorf("%q with %q becomes %q", body, block, out)
			}
		}
	})
}
