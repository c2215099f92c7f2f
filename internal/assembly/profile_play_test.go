package assembly

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/index/chroma/chromatest"
)

// TestProfileScenes plays testdata/profiles/*.txt, which follow the designs, a step a line; " | " separates several.
//
//	stage PROFILE KEY=VALUE …   a server; "each NAME: A || B" before plays the scene with A and with B for $NAME
//	model PROMPT: REPLY         the learning model's next reply to that prompt; reply TEXT is the chat model's
//	as NAME                     who asks from now on by Open WebUI's header, "as" nobody; header NAME: VALUE
//	extra NAME: JSON            a field of chats from now on; "extra" none
//	say TEXT                    in the current chat; chat begins another; ask TEXT does so for one message
//	regenerate                  sends the chat without its last answer
//	remember FACTS, pass TIME, settle
//	GET PATH, POST PATH BODY …  a request; $NAME stands for what "keep NAME FIELD" kept of an answer; "refused N" before it
//	query REPLY: BODY           POST /query, to which the model writes REPLY
//	expect facts QUERY: FACTS   exactly these are listed
//	expect WHERE: TEXTS         are in: system or last (message that the model got), body, sent (body of any request), answer, context, summaries or
//	                            recent (of an answer to a query), log, or page PATH
//	expect no WHERE: TEXTS      are not
//	expect times N WHERE: TEXT
//	expect prompt NAME N: TEXTS the learning model was asked so often since, or "again", and the last time with these
//	expect no prompt: TEXTS     which were not in that
//	expect order: TEXTS         they stand in that prompt in this order
//	expect messages N           of the request that the model got
func TestProfileScenes(t *testing.T) {
	playScenes(t, "testdata/profiles/*.txt", func(t *testing.T, _ string) func(at, line string) {
		p := &played{t: t, kept: map[string]string{}, extras: map[string]any{}}
		return func(at, line string) {
			p.at = at
			p.step(line)
		}
	})
}

type played struct {
	*stage
	t       *testing.T
	at      string
	chat    *talk
	headers []string
	extras  map[string]any
	got     chatAsked
	answer  string
	prompt  string // the last that was looked at
	refused string
	kept    map[string]string
}

func (p *played) fail(format string, args ...any) {
	p.t.Helper()
	p.t.Fatalf("%s\n%.2500s", p.at, fmt.Sprintf(format, args...))
}

func (p *played) step(line string) {
	p.t.Helper()
	for name, value := range p.kept {
		line = strings.ReplaceAll(line, "$"+name, value)
	}
	head, value, _ := strings.Cut(line, ": ")
	verb, name, _ := strings.Cut(strings.TrimSuffix(head, ":"), " ")
	_, rest, _ := strings.Cut(line, " ") // of steps whose text may have a colon
	switch verb {
	case "stage":
		set := map[string]string{}
		for pair := range strings.FieldsSeq(rest) {
			if key, value, is := strings.Cut(pair, "="); is {
				set[key] = value
				if key == "bootstrap" {
					set[key] = p.t.TempDir() + "/everybody.md"
					writeFile(p.t, set[key], "- The "+strings.ReplaceAll(value, "_", " ")+"\n")
				}
			}
		}
		if set["index"] == "chroma" {
			set["chroma.url"] = chromatest.Start(p.t).URL
		}
		delete(set, "index")
		profile, _, _ := strings.Cut(rest, " ")
		p.stage, p.chat = newStage(p.t, profile, set), nil
	case "model":
		p.model.on(name, value)
	case "reply":
		p.model.reply = rest
	case "as":
		p.headers, p.chat = nil, nil
		if rest != "" {
			p.headers = []string{"X-OpenWebUI-User-Id", rest}
		}
	case "header":
		p.headers, p.chat = append(p.headers, name, value), nil
	case "extra":
		p.chat = nil
		if name == "" {
			p.extras = map[string]any{}
			return
		}
		p.extras[name] = json.RawMessage(value)
	case "chat":
		p.chat = nil
	case "say", "ask":
		if p.chat == nil || verb == "ask" {
			p.chat = p.talk(p.headers...)
			p.chat.extras = maps.Clone(p.extras)
		}
		p.got, p.answer = p.chat.says(rest)
		if verb == "ask" {
			p.chat = nil
		}
	case "regenerate":
		p.chat.messages = p.chat.messages[:len(p.chat.messages)-1]
		p.got, p.answer = p.chat.send()
	case "remember":
		p.remember(p.headers, strings.Split(rest, " | ")...)
	case "pass":
		d, err := time.ParseDuration(rest)
		if err != nil {
			p.fail("%v", err)
		}
		p.clock.pass(d)
	case "settle":
		p.settle()
	case "refused":
		p.refused = rest
	case "GET", "POST", "PUT", "PATCH", "DELETE":
		path, body, _ := strings.Cut(rest, " ")
		status, answer := p.do(verb, path, body, p.headers...)
		if p.answer = answer; p.refused == "" && status >= 300 || p.refused != "" && p.refused != fmt.Sprint(status) {
			p.fail("status %d: %s", status, answer)
		}
		p.refused = ""
	case "query":
		p.model.on("write", name)
		p.answer = p.ok(nil, "POST", "/query", value, p.headers...)
		p.settle()
	case "keep":
		name, path, _ := strings.Cut(rest, " ")
		p.kept[name] = p.field(path)
	case "expect":
		p.expect(name, value)
	default:
		p.fail("no such step")
	}
}

// field is a value of the last answer, by names and places.
func (p *played) field(path string) string {
	var v any
	if err := json.Unmarshal([]byte(p.answer), &v); err != nil {
		p.fail("%v in %s", err, p.answer)
	}
	for name := range strings.SplitSeq(path, ".") {
		switch w := v.(type) {
		case map[string]any:
			v = w[name]
		case []any:
			if v = nil; len(w) > 0 {
				v = w[0].(map[string]any)[name]
			}
		}
	}
	if v == nil {
		p.fail("no %s in %s", path, p.answer)
	}
	return fmt.Sprint(v)
}

func (p *played) expect(what, value string) {
	p.t.Helper()
	verb, rest, _ := strings.Cut(what, " ")
	var want []string
	if value != "" {
		want = strings.Split(value, " | ")
	}
	switch verb {
	case "facts":
		got := p.facts(rest, p.headers...)
		slices.Sort(got)
		if slices.Sort(want); !slices.Equal(got, want) {
			p.fail("the facts are %q", got)
		}
	case "messages":
		if got := fmt.Sprint(len(p.got.Messages)); got != rest {
			p.fail("%s messages: %s", got, p.got.body)
		}
	case "prompt":
		name, count, _ := strings.Cut(rest, " ")
		asked := p.model.taken(name)
		if fmt.Sprint(len(asked)) != count && count != "again" {
			p.fail("asked %d times", len(asked))
		}
		if len(asked) > 0 {
			last := asked[len(asked)-1]
			p.prompt = last.system + "\n" + last.user + "\n" + last.body
		}
		p.in("prompt", want, true)
	case "no":
		p.in(rest, want, false)
	case "order":
		at := 0
		for _, w := range want {
			i := strings.Index(p.prompt[at:], w)
			if i < 0 {
				p.fail("%q is missing or out of order in %s", w, p.prompt)
			}
			at += i
		}
	case "times":
		count, where, _ := strings.Cut(rest, " ")
		if got := fmt.Sprint(strings.Count(p.text(where), value)); got != count {
			p.fail("%s times in %s", got, p.text(where))
		}
	default:
		p.in(what, want, true)
	}
}

func (p *played) in(where string, want []string, is bool) {
	p.t.Helper()
	text := p.text(where)
	for _, w := range want {
		if strings.Contains(text, strings.NewReplacer(`\n`, "\n", `\s`, " ").Replace(w)) != is {
			p.fail("%q is there: %v, in %s", w, !is, text)
		}
	}
}

func (p *played) text(where string) string {
	name, path, _ := strings.Cut(where, " ")
	switch name {
	case "system":
		return p.got.says(0)
	case "last":
		return p.got.says(-1)
	case "body":
		return p.got.body
	case "sent":
		return p.model.lastChat(p.t).body
	case "answer":
		return p.answer
	case "prompt":
		return p.prompt
	case "log":
		return p.log.String()
	case "context", "summaries", "recent": // of POST /query
		var a struct {
			MemoryContext struct {
				Context, Summaries json.RawMessage
				Recent             json.RawMessage `json:"recent_messages"`
			} `json:"memory_context"`
		}
		if err := json.Unmarshal([]byte(p.answer), &a); err != nil {
			p.fail("%v in %s", err, p.answer)
		}
		return string(map[string]json.RawMessage{"context": a.MemoryContext.Context, "summaries": a.MemoryContext.Summaries, "recent": a.MemoryContext.Recent}[name])
	case "page":
		return p.ok(nil, "GET", path, "", p.headers...)
	}
	p.fail("no such place")
	return ""
}
