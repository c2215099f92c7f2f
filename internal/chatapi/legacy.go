package chatapi

import (
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/memory"
)

// Legacy is the dialect of OpenAI's older completions. A prompt is read as the user's message, or as a chat
// that a framework has written as text. Requests with code to complete, several prompts, token numbers or a
// chat template are read without messages, so they get no block.
var Legacy = &Dialect{
	Path: "/v1/completions", AnswerIDPrefix: "cmpl-", SingleText: true,
	Decode: decodeLegacy, readAnswer: readLegacyAnswer,
	EncodeAnswer: func(a Answer, created time.Time) []byte {
		return mustEncode(legacyAnswer(a, created, legacyChoice{Text: a.Text, Finish: finishReason(a)}, usageOf(a)))
	},
	EncodePiece: func(a Answer, created time.Time, text string, _ int) []byte {
		return encodeDataEvent(legacyAnswer(a, created, legacyChoice{Text: text}, nil))
	},
	EncodeEnd: func(a Answer, created time.Time) []byte {
		var took *usage
		if a.ReportUsage {
			took = usageOf(a)
		}
		return append(encodeDataEvent(legacyAnswer(a, created, legacyChoice{Finish: finishReason(a)}, took)), StreamEnd...)
	},
	EncodeEmptyEvent: func(a Answer, created time.Time) []byte {
		l := legacyAnswer(a, created, legacyChoice{}, nil)
		l.Choices = []legacyChoice{}
		return mustEncode(l)
	},
	EncodeError: encodeOpenAIError,
	readEvent:   (*Stream).readLegacyEvent, isLastEvent: isChunksEnd,
}

// speakerLabels matches the labels that frameworks write before the messages in a prompt.
var speakerLabels = lazy.Compile(`(?mi)^(system|user|human|assistant|ai|tool|function): ?`)

// templateMarkers matches markers of chat templates and of prompts for code completion.
var templateMarkers = lazy.Compile(`<\|[^|<>\n]{1,40}\|>|<｜[^｜\n]{1,40}｜>|<fim_|<PRE>|\[INST\]|\[(PREFIX|SUFFIX)\]|<start_of_turn>`)

func decodeLegacy(body []byte) (*Chat, error) {
	c, fields, err := readCommonFields(body)
	if err != nil {
		return nil, err
	}
	c.User = stringField(fields, "user")
	c.ReportUsage = fieldOf(fields, "stream_options").Get("include_usage").Type == gjson.True
	prompt := fieldOf(fields, "prompt")
	if prompt.IsArray() && prompt.Get("#").Int() == 1 {
		// An element's offset is relative to the list's text.
		inner := prompt.Get("0")
		inner.Index = prompt.Index + strings.Index(prompt.Raw, inner.Raw)
		prompt = inner
	}
	text := stringOf(prompt)
	single := fieldOf(fields, "n").Num <= 1 && fieldOf(fields, "best_of").Num <= 1 && fieldOf(fields, "echo").Type != gjson.True
	if strings.TrimSpace(text) == "" || !single || stringField(fields, "suffix") != "" || templateMarkers.MatchString(text) {
		return c, nil
	}
	at := c.readPrompt(text, spanOf(prompt))
	c.blockIsPart = true // BlockPart then returns Unplaced, because a later request cannot insert the block again
	c.blockEdits = func(_ *Chat, b Block, _ Placement) []edit {
		return []edit{{spanOf(prompt), quote(text[:at] + b.Text + "\n\n" + text[at:])}}
	}
	return c, nil
}

// readPrompt reads the messages in a prompt and returns the offset of the user's last message.
func (c *Chat) readPrompt(text string, promptSpan span) int {
	labels := speakerLabels.FindAllStringSubmatchIndex(text, -1)
	last := -1
	for i, h := range labels {
		if role := speakerRole(text[h[2]:h[3]]); role == memory.RoleUser {
			last = i
		}
	}
	if last < 0 || strings.TrimSpace(text[:labels[0][0]]) != "" {
		c.addPromptMessage(memory.RoleUser, text, promptSpan)
		return 0
	}
	for i, h := range labels {
		end := len(text)
		if i+1 < len(labels) {
			end = labels[i+1][0]
		}
		where := span{}
		if i == last {
			where = promptSpan
		}
		if words := strings.TrimSpace(text[h[1]:end]); words != "" {
			c.addPromptMessage(speakerRole(text[h[2]:h[3]]), words, where)
		}
	}
	return labels[last][0]
}

func (c *Chat) addPromptMessage(role memory.Role, text string, promptSpan span) {
	m := Message{Role: role, Text: text, span: promptSpan}
	m.removeWrappers(nil, nil)
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

func legacyAnswer(a Answer, created time.Time, c legacyChoice, tokens *usage) legacyCompletion {
	return legacyCompletion{ID: a.ID, Object: "text_completion", Created: created.Unix(), Model: a.Model, Choices: []legacyChoice{c}, Usage: tokens}
}

func readLegacyAnswer(root gjson.Result, a *Answer) error {
	choice := firstChoice(root)
	text := choice.Get("text")
	if text.Type != gjson.String {
		return memory.Errorf(memory.Invalid, "choices[0].text is missing")
	}
	a.Text, a.FinishReason = strings.TrimSpace(stringOf(text)), stringOf(choice.Get("finish_reason"))
	return nil
}

func (s *Stream) readLegacyEvent(event gjson.Result) {
	choice, ok := s.readChoice(event)
	if !ok {
		return
	}
	text := stringOf(choice.Get("text"))
	if s.text.Len() == 0 {
		text = strings.TrimLeft(text, " \n")
	}
	s.appendText(&s.text, text)
}
