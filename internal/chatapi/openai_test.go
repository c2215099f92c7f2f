package chatapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci/memory"
)

func TestDecodeRefuses(t *testing.T) {
	for _, test := range []struct{ body, want string }{
		{``, "not valid JSON"},
		{`{"messages":[`, "not valid JSON"},
		{`{"messages":[{"role":"user"},]}`, "not valid JSON"},
		{"\xef\xbb\xbf" + `{"messages":[]}`, "not valid JSON"},
		{`{"messages":[]} {}`, "not valid JSON"},
		{`[]`, "must be a JSON object"},
		{`null`, "must be a JSON object"},
		{"{\"messages\":[{\"role\":\"user\",\"content\":\"\xff\"}]}", "UTF-8"},
		{`{}`, "messages is missing"},
		{`{"messages":null}`, "messages must be an array"},
		{`{"messages":{"role":"user"}}`, "messages must be an array"},
		{`{"messages":[],"messages":[]}`, "2 times"},
		{`{"messages":[],"mess\u0061ges":[]}`, "2 times"},
		{`{"messages":["hi"]}`, "messages[0] must be an object"},
		{`{"messages":[{"role":"user"},null]}`, "messages[1] must be an object"},
		{`{"messages":[{"role":"user"},{"content":"x"}]}`, "messages[1].role must be a string"},
		{`{"messages":[{"role":7}]}`, "messages[0].role must be a string"},
		{`{"messages":[],"memory_id":7}`, "memory_id must be a string"},
		{`{"messages":[],"memory_id":{"a":1}}`, "memory_id must be a string"},
		{`{"messages":[],"memory_id":"` + strings.Repeat("x", 513) + `"}`, "memory_id must be a string of at most 512 bytes"},
		{`{"messages":[],"memory_top_k":101}`, "memory_top_k must be a whole number up to 100"},
		{`{"messages":[],"memory_top_k":-1.5}`, "memory_top_k must be"},
		{`{"messages":[],"memory_top_k":1.5}`, "memory_top_k must be"},
		{`{"messages":[],"memory_top_k":"5"}`, "memory_top_k must be"},
		{`{"messages":[],"memory_top_k":1e400}`, "memory_top_k must be"},
		{`{"messages":[],"memory_recency_weight":2}`, "memory_recency_weight must be a number from 0 to 1"},
		{`{"messages":[],"memory_score_threshold":true}`, "memory_score_threshold must be a number from 0 to 1"},
		{`{"messages":[],"memory_mode":"on"}`, "memory_mode must be one of read_write, read, write and off"},
		{`{"messages":[],"memory_project":[]}`, "memory_project must be a string"},
		{`{"messages":[],"x":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`, "nests deeper than 256"},
		{strings.Repeat("[", 1_000_000), "nests deeper than 256"},
	} {
		_, err := Decode([]byte(test.body))
		if !errors.Is(err, memory.Invalid) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("Decode(%.80s): got %v, want invalid: %s", test.body, err, test.want)
		}
	}
}

func TestDepthIgnoresBracketsInStrings(t *testing.T) {
	body := `{"messages":[{"role":"user","content":"` + strings.Repeat(`[{\"\\`, 1000) + `"}]}`
	if _, err := Decode([]byte(body)); err != nil {
		t.Errorf("Decode(%.80s): %v", body, err)
	}
}

func TestHeadersFillWhatTheBodyLeavesOpen(t *testing.T) {
	c := try(Decode([]byte(`{"messages":[],"memory_id":"body","memory_top_k":0}`))).orFail(t)
	headers := map[string]string{
		"X-Loci-Id": "header", "X-Loci-Top-K": "9", "X-Loci-Mode": "off", "X-Loci-Project": " p ",
		"X-Loci-Recency-Weight": "0.5", "X-Loci-Score-Threshold": "1",
	}
	got := try(c.Extras.WithHeaders(func(name string) string { return headers[name] })).orFail(t)
	text := fmt.Sprint(got.ID, *got.TopK, got.Mode, got.Project, *got.RecencyWeight, *got.ScoreThreshold)
	if want := "body0offp0.51"; strings.ReplaceAll(text, " ", "") != want {
		t.Errorf("Merge: got %s, want %s", text, want)
	}
	if got, err := (Extras{}).WithHeaders(func(name string) string {
		return map[string]string{"X-Loci-Memory-Id": "second"}[name]
	}); err != nil || got.ID != "second" {
		t.Errorf("Merge of X-Loci-Memory-Id: got %+v, %v, want second", got, err)
	}
	for name, value := range map[string]string{
		"X-Loci-Mode": "maybe", "X-Loci-Top-K": "many", "X-Loci-Recency-Weight": "NaN", "X-Loci-Score-Threshold": "-1",
	} {
		_, err := (Extras{}).WithHeaders(func(n string) string {
			if n == name {
				return value
			}
			return ""
		})
		if !errors.Is(err, memory.Invalid) || !strings.Contains(err.Error(), name) {
			t.Errorf("Merge of %s: %s: got %v, want invalid naming it", name, value, err)
		}
	}
}

func TestBlockNeverParts(t *testing.T) {
	call := func(ids ...string) string {
		var calls []string
		for _, id := range ids {
			calls = append(calls, fmt.Sprintf(`{"id":%q,"function":{"name":"f","arguments":"{}"}}`, id))
		}
		return `{"role":"assistant","tool_calls":[` + strings.Join(calls, ",") + `]}`
	}
	result := func(id string) string { return fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":"r"}`, id) }
	const user, legacy, function = `{"role":"user","content":"u"}`, `{"role":"assistant","function_call":{"name":"f","arguments":""}}`, `{"role":"function","name":"f","content":"r"}`
	for _, test := range []struct {
		name     string
		messages []string
		want     int // place of the block
	}{
		{"plain", []string{user}, 0},
		{"after a finished sequence", []string{user, call("a"), result("a"), user}, 3},
		{"in a sequence", []string{user, call("a"), user, result("a")}, 1},
		{"in the second of two", []string{user, call("a"), result("a"), call("b"), user, result("b")}, 3},
		{"in interleaved ones", []string{call("a"), call("b"), result("a"), user, result("b")}, 0},
		{"ids used again", []string{call("a"), result("a"), user, call("a"), result("a"), user}, 5},
		{"a call never answered", []string{call("a"), user}, 1},
		{"an older function call", []string{user, legacy, user, function}, 1},
		{"a finished function call", []string{user, legacy, function, user}, 3},
	} {
		body := `{"messages":[` + strings.Join(test.messages, ",") + `]}`
		c := try(Decode([]byte(body))).orFail(t)
		if got := c.positionOutsideCalls(c.LastUser()); got != test.want {
			t.Errorf("%s: %s\ngot place %d, want %d", test.name, body, got, test.want)
		}
	}
}

func TestDigestIsOfTheMeaning(t *testing.T) {
	one := func(message string) string {
		c, err := Decode([]byte(`{"messages":[` + message + `]}`))
		if err != nil {
			t.Fatalf("%s: %v", message, err)
		}
		return c.Messages[0].Digest
	}
	for _, test := range []struct {
		same bool
		a, b string
	}{
		{true, `{"role":"user","content":"a  b\n"}`, `{"content":"a b","role":"user","name":"ana"}`},
		{true, `{"role":"user","content":"caf\u00e9"}`, `{"role":"user","content":"café"}`},
		{true, `{"role":"user","content":"a\nb"}`, `{"role":"user","content":[{"type":"text","text":"a"},{"text":"b","type":"text"}]}`},
		{true, `{"role":"assistant","content":null}`, `{"role":"assistant","content":""}`},
		{true, `{"role":"assistant","content":"<think>hm</think>\n\nyes"}`, `{"role":"assistant","content":"yes"}`},
		{true, `{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\": 1, \"b\":\"\\u00e9\"}"}}]}`,
			`{"role":"assistant","content":"","tool_calls":[{"id":"2","function":{"arguments":"{\"b\":\"é\",\"a\":1}","name":"f"}}]}`},
		{true, `{"role":"assistant","function_call":{"name":"f","arguments":"{}"}}`, `{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{ }"}}]}`},
		{true, `{"role":"system","content":"a"}`, `{"role":"developer","content":"a"}`},
		{false, `{"role":"user","content":"a"}`, `{"role":"assistant","content":"a"}`},
		{false, `{"role":"user","content":"a b"}`, `{"role":"user","content":"ab"}`},
		{false, `{"role":"user","content":"<think>hm</think>yes"}`, `{"role":"user","content":"yes"}`},
		{false, `{"role":"tool","tool_call_id":"1","content":"a"}`, `{"role":"tool","tool_call_id":"2","content":"a"}`},
		{false, `{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"1"}}]}`, `{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"10"}}]}`},
		{false, `{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"12345678901234567890"}}]}`, `{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"12345678901234567891"}}]}`},
		{false, `{"role":"user","content":[{"type":"image_url","image_url":{"url":"a"}}]}`, `{"role":"user","content":[{"type":"image_url","image_url":{"url":"b"}}]}`},
	} {
		if got := one(test.a) == one(test.b); got != test.same {
			t.Errorf("%s\n%s\nsame digest: got %t, want %t", test.a, test.b, got, test.same)
		}
	}
}

// TestOnlyOurBytesDiffer checks the fidelity of generated requests.
func TestOnlyOurBytesDiffer(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		body := request(rt)
		c, err := Decode([]byte(body))
		if err != nil {
			rt.Fatalf("Decode(%s): %v", body, err)
		}
		checkBare(t, c)
		text := rapid.StringN(1, 40, -1).Draw(rt, "block")
		for _, p := range placements {
			checkWith(t, c, strings.ToValidUTF8(text, "?"), p)
		}
		if t.Failed() {
			rt.FailNow()
		}
	})
}

// request draws a valid request in any JSON notation.
func request(t *rapid.T) string {
	space := rapid.SampledFrom([]string{"", "", " ", "\n\t", "\r\n "})
	text := rapid.SampledFrom([]string{`""`, `"hi"`, `"a\"b\\"`, `"\u2028\ud83d\ude00"`, `"é,}]"`, `"\ud800"`})
	value := rapid.SampledFrom([]string{`null`, `1e400`, `-0.10`, `12345678901234567890123`, `"x"`, `[ ]`, `{"messages":[1],"memory_id":2}`})
	object := func(members []string) string {
		s := "{" + space.Draw(t, "space")
		for i, m := range members {
			if i > 0 {
				s += space.Draw(t, "space") + "," + space.Draw(t, "space")
			}
			s += m
		}
		return s + space.Draw(t, "space") + "}"
	}
	content := func() string {
		switch rapid.IntRange(0, 4).Draw(t, "content") {
		case 0:
			return value.Draw(t, "value")
		case 1:
			parts := rapid.SliceOfN(rapid.SampledFrom([]string{
				`{"type":"text","text":"a"}`, `{ "text" : "b\n" , "type" : "text" }`, `{"type":"image_url","image_url":{"url":"x"}}`, `7`,
			}), 0, 3).Draw(t, "parts")
			return "[" + strings.Join(parts, space.Draw(t, "space")+",") + space.Draw(t, "space") + "]"
		}
		return text.Draw(t, "text")
	}
	var messages []string
	for range rapid.IntRange(0, 5).Draw(t, "messages") {
		fields := []string{`"role":` + space.Draw(t, "space") + rapid.SampledFrom([]string{
			`"user"`, `"assistant"`, `"system"`, `"developer"`, `"tool"`, `"critic"`}).Draw(t, "role")}
		fields = append(fields, `"content":`+content())
		if rapid.Bool().Draw(t, "calls") {
			fields = append(fields, `"tool_calls":[{"id":"a"},{"id":"b","function":{"name":"f","arguments":"{}"}}]`)
		}
		if rapid.Bool().Draw(t, "answers") {
			fields = append(fields, `"tool_call_id":"`+rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "id")+`"`)
		}
		messages = append(messages, object(rapid.Permutation(fields).Draw(t, "fields")))
	}
	fields := []string{`"messages"` + space.Draw(t, "space") + `:[` + space.Draw(t, "space") + strings.Join(messages, ",") + space.Draw(t, "space") + `]`}
	for _, extra := range []string{`"memory_id":"a"`, `"memory_id" : "b"`, `"memory_top_k":5`, `"memory_mode": "off"`, `"memory_project":null`} {
		if rapid.Bool().Draw(t, "extra") {
			fields = append(fields, extra)
		}
	}
	for range rapid.IntRange(0, 3).Draw(t, "unknown") {
		fields = append(fields, `"x":`+value.Draw(t, "value"))
	}
	return space.Draw(t, "space") + object(rapid.Permutation(fields).Draw(t, "order")) + space.Draw(t, "space")
}

func FuzzWith(f *testing.F) {
	f.Add([]byte(`{"memory_id":"x","messages":[{"role":"user","content":"hi"}]}`), "block")
	f.Add([]byte(`{"messages":[{"role":"system","content":[{"type":"text","text":"a"}]},{"role":"user","content":[]}],"memory_mode":"off"}`), "\"\\\n")
	f.Add([]byte(`{"messages":[{"role":"assistant","tool_calls":[{"id":"a"}]},{"role":"user","content":"\ud800"},{"role":"tool","tool_call_id":"a"}]}`), "\u2028")
	seed(f, "odd")
	f.Fuzz(func(t *testing.T, body []byte, block string) {
		c, err := Decode(body)
		if err != nil {
			if !errors.Is(err, memory.Invalid) {
				t.Errorf("Decode(%q): got %v, want invalid", body, err)
			}
			return
		}
		checkBare(t, c)
		for _, p := range placements {
			checkWith(t, c, strings.ToValidUTF8(block, "?"), p)
		}
		IsFrontEndTask(c)
	})
}

// FuzzValid compares the quick syntax check with the standard library's.
func FuzzValid(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1e5,-0,"\u00e9"]}`, `01`, `1.`, `-`, `.5`, `"\u12"`, `"\x"`, `tru`, `{"a" 1}`, `[1,]`, `[}`, ` `, `1 2`, "\"\x01\"",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if !utf8.Valid(body) || Depth(body) > MaxDepth {
			return
		}
		if got, want := validateBody(body) == nil, json.Valid(body); got != want {
			t.Errorf("check(%q): got %t, want %t", body, got, want)
		}
	})
}

func TestFrontEndTask(t *testing.T) {
	const transcript = "USER: I moved to Lisbon\nASSISTANT: How nice!\n"
	for _, test := range []struct {
		want     bool
		messages []string // role, text, role, text …
	}{
		{true, []string{"user", "### Task:\nGenerate a concise, 3-5 word title with an emoji.\n### Guidelines:\n- be brief\n### Output:\nJSON\n### Chat History:\n<chat_history>\n" + transcript + "</chat_history>"}},
		{true, []string{"user", "### Task:\nGenerate 1-3 broad tags for the main themes.\n\n### Chat History:\n<chat_history>\n" + transcript + "</chat_history>"}},
		{true, []string{"user", "### Task:\nSuggest 3-5 relevant follow-up questions.\n### Output:\nJSON\n<chat_history>\n" + transcript + "</chat_history>"}},
		{true, []string{"system", "Be kind.", "user", "### Task:\nDecide whether a search is needed and give queries.\n### Guidelines:\nJSON only\n<chat_history>" + transcript + "</chat_history>"}},
		{true, []string{"user", "### Task:\nYou complete what is being typed.\n<type>General</type>\n<text>I moved</text>"}},
		{true, []string{"user", "Provide a concise, 5-word-or-less title for the conversation, in title case. Return the title only.\n\nConversation:\nUser: I moved to Lisbon\nAI: How nice!"}},
		{true, []string{"system", "Summarize the talk into a title of 10 words or less.", "user", "user: I moved\nassistant: How nice!"}},
		{false, []string{"user", "Generate a short title for my blog post about Lisbon."}},
		{false, []string{"user", "### Task:\nHelp me plan my day"}},
		{false, []string{"user", "### Task:\nSuggest 3 tags for my shop\n### Guidelines:\nshort\n### Output:\na list"}},
		{false, []string{"user", "What did we say?\nUser: I moved to Lisbon\nAssistant: How nice!"}},
		{false, []string{"user", "I moved to Lisbon", "assistant", "How nice!", "user", "Generate a concise title for this conversation in 5 words or less"}},
		{false, []string{"user", "Can you suggest follow-up questions I could ask my doctor?"}},
		{false, []string{"system", "You give short titles."}},
		{false, nil},
	} {
		c := &Chat{}
		for i := 0; i < len(test.messages); i += 2 {
			c.Messages = append(c.Messages, Message{Role: memory.Role(test.messages[i]), Text: test.messages[i+1]})
		}
		if got := IsFrontEndTask(c); got != test.want {
			t.Errorf("FrontEndTask(%q): got %t, want %t", test.messages, got, test.want)
		}
	}
}

func BenchmarkWith(b *testing.B) {
	image := `{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + strings.Repeat("iVBORw0K", 1<<17) + `"}}]},`
	text := try(json.Marshal(strings.Repeat("I live in Berlin and like tea. ", 20))).orFail(b)
	message := `{"role":"user","content":` + string(text) + `},{"role":"assistant","content":` + string(text) + `},`
	last := `{"role":"user","content":"hi"}`
	for _, bench := range []struct{ name, messages string }{
		{"short", last}, {"100 messages", strings.Repeat(message, 50) + last}, {"1 MiB image", image + last},
	} {
		b.Run(bench.name, func(b *testing.B) {
			body := []byte(`{"model":"m","memory_id":"x","messages":[` + bench.messages + `]}`)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				c := try(Decode(body)).orFail(b)
				c.WithBlock(block, Tail)
			}
		})
	}
}

func TestNoTopKBelowOneRecalls(t *testing.T) {
	for _, k := range []string{"0", "-1", "-1e30"} {
		c, err := Decode([]byte(`{"messages":[],"memory_top_k":` + k + `}`))
		if err != nil || c.Extras.TopK == nil || *c.Extras.TopK != 0 {
			t.Errorf("%s: %v, %v; want 0", k, c, err)
		}
		e, err := Extras{}.WithHeaders(func(name string) string { return map[string]string{"X-Loci-Top-K": k}[name] })
		if err != nil || e.TopK == nil || *e.TopK != 0 {
			t.Errorf("header %s: %+v, %v; want 0", k, e, err)
		}
	}
}
