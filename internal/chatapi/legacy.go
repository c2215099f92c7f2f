package chatapi

import (
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/memory"
)

// Legacy is the dialect of OpenAI's older completions. Its prompt is the user's message, or a chat that a
// framework has written as text. Other prompts have no messages: code to complete, several prompts, token
// numbers, and chat templates.
var Legacy = &Dialect{
	Path: "/v1/completions", AnswerID: "cmpl-", Flat: true,
	Decode: decodeLegacy, read: readLegacyAnswer,
	EncodeAnswer: func(a Answer, created time.Time) []byte {
		return mustEncode(legacyAnswer(a, created, legacyChoice{Text: a.Text, Finish: finish(a)}, usageOf(a)))
	},
	EncodePiece: func(a Answer, created time.Time, text string, _ int) []byte {
		return event(legacyAnswer(a, created, legacyChoice{Text: text}, nil))
	},
	EncodeEnd: func(a Answer, created time.Time) []byte {
		var took *usage
		if a.Counted {
			took = usageOf(a)
		}
		return append(event(legacyAnswer(a, created, legacyChoice{Finish: finish(a)}, took)), StreamEnd...)
	},
	EncodeEmpty: func(a Answer, created time.Time) []byte {
		l := legacyAnswer(a, created, legacyChoice{}, nil)
		l.Choices = []legacyChoice{}
		return mustEncode(l)
	},
	EncodeError: encodeError,
	hear:        (*Stream).readLegacyEvent, ends: endsChunks,
}

// speakerLabels matches the labels that frameworks write before the messages in a prompt.
var speaker = lazy.Compile(`(?mi)^(system|user|human|assistant|ai|tool|function): ?`)

// templateMarkers matches markers of chat templates and of prompts for code completion.
var controls = lazy.Compile(`<\|[^|<>\n]{1,40}\|>|<｜[^｜\n]{1,40}｜>|<fim_|<PRE>|\[INST\]|\[(PREFIX|SUFFIX)\]|<start_of_turn>`)

func decodeLegacy(body []byte) (*Chat, error) {
	c, fields, err := readOuter(body)
	if err != nil {
		return nil, err
	}
	c.User = strOf(fields, "user")
	c.Counted = fieldOf(fields, "stream_options").Get("include_usage").Type == gjson.True
	prompt := fieldOf(fields, "prompt")
	if prompt.IsArray() && prompt.Get("#").Int() == 1 {
		// An element's offset is relative to the list's text.
		inner := prompt.Get("0")
		inner.Index = prompt.Index + strings.Index(prompt.Raw, inner.Raw)
		prompt = inner
	}
	text := str(prompt)
	single := fieldOf(fields, "n").Num <= 1 && fieldOf(fields, "best_of").Num <= 1 && fieldOf(fields, "echo").Type != gjson.True
	if strings.TrimSpace(text) == "" || !single || strOf(fields, "suffix") != "" || controls.MatchString(text) {
		return c, nil
	}
	at := c.readPrompt(text, spanOf(prompt))
	c.inParts = true // a later request cannot insert a block again
	c.put = func(_ *Chat, b Block, _ Placement) []edit {
		return []edit{{spanOf(prompt), quote(text[:at] + b.Text + "\n\n" + text[at:])}}
	}
	return c, nil
}

// readPrompt reads the messages in a prompt and returns the offset of the user's last message.
func (c *Chat) readPrompt(text string, at span) int {
	heads := speaker.FindAllStringSubmatchIndex(text, -1)
	last := -1
	for i, h := range heads {
		if role := speakerRole(text[h[2]:h[3]]); role == memory.RoleUser {
			last = i
		}
	}
	if last < 0 || strings.TrimSpace(text[:heads[0][0]]) != "" {
		c.addPrompt(memory.RoleUser, text, at)
		return 0
	}
	for i, h := range heads {
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		where := span{}
		if i == last {
			where = at
		}
		if words := strings.TrimSpace(text[h[1]:end]); words != "" {
			c.addPrompt(speakerRole(text[h[2]:h[3]]), words, where)
		}
	}
	return heads[last][0]
}

func (c *Chat) addPrompt(role memory.Role, text string, at span) {
	m := Message{Role: role, Text: text, at: at}
	m.unwrap(nil, nil)
	m.Digest = digest(m.Role, m.Text, nil, "")
	c.Messages = append(c.Messages, m)
}

func speakerRole(name string) memory.Role {
	switch name = strings.ToLower(name); name {
	case "human":
		return memory.RoleUser
	case "ai":
		return memory.RoleAssistant
	}
	return readRole(name)
}

type legacyCompletion struct {
	ID      string         `json:"id"`
	Object  string         `json:"object"`
	Created int64          `json:"created"`
	Model   string         `json:"model"`
	Choices []legacyChoice `json:"choices"`
	Usage   *usage         `json:"usage,omitempty"`
}

type legacyChoice struct {
	Text     string  `json:"text"`
	Index    int     `json:"index"`
	Logprobs *string `json:"logprobs"`
	Finish   *string `json:"finish_reason"`
}

func legacyAnswer(a Answer, created time.Time, c legacyChoice, took *usage) legacyCompletion {
	return legacyCompletion{ID: a.ID, Object: "text_completion", Created: created.Unix(), Model: a.Model, Choices: []legacyChoice{c}, Usage: took}
}

func readLegacyAnswer(root gjson.Result, a *Answer) error {
	choice := firstChoice(root)
	text := choice.Get("text")
	if text.Type != gjson.String {
		return memory.Errorf(memory.Invalid, "choices[0].text is missing")
	}
	a.Text, a.Finish = strings.TrimSpace(str(text)), str(choice.Get("finish_reason"))
	return nil
}

func (s *Stream) readLegacyEvent(event gjson.Result) {
	choice, ok := s.hearChoice(event)
	if !ok {
		return
	}
	text := str(choice.Get("text"))
	if s.text.Len() == 0 {
		text = strings.TrimLeft(text, " \n")
	}
	s.add(&s.text, text)
}
