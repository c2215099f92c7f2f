package portable

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// What other programs export, where its form is public. Ids are made anew from
// theirs, so that a file read twice counts once and no id of theirs is one of ours.

// items reads a JSON list one element at a time, or the list in an object's first
// field that is one.
func (r Reader) items(in io.Reader, use func(n int, item []byte) error) error {
	buffered := bufio.NewReaderSize(in, 64<<10)
	if mark, _ := buffered.Peek(len(byteOrderMark)); string(mark) == byteOrderMark {
		_, _ = buffered.Discard(len(mark)) // it was read just now
	}
	bounded := &itemReader{in: buffered}
	dec := json.NewDecoder(bounded)
	if err := intoList(dec); err != nil {
		return memory.Errorf(memory.Invalid, "is not JSON list: %s", amiss(err))
	}
	for n := 1; dec.More(); n++ {
		var item json.RawMessage
		bounded.read = 0
		if err := dec.Decode(&item); err != nil {
			if errors.Is(err, errLongLine) {
				return r.Bad(n, memory.Errorf(memory.TooLarge, "%w, and all that follows is left out", err))
			}
			var syntax *json.SyntaxError
			if errors.As(err, &syntax) || errors.Is(err, io.ErrUnexpectedEOF) { // where the next begins cannot be told
				return r.Bad(n, memory.Errorf(memory.Invalid, "is not JSON, and all that follows is left out: %s", amiss(err)))
			}
			return fmt.Errorf("read: %w", err)
		}
		err := errNotText
		if nested(item) {
			err = wrong{errNested}
		} else if utf8.Valid(item) {
			err = use(n, item)
		}
		if err != nil {
			if err = r.judge(n, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// itemReader reads at most twice MaxLine, what the decoder read ahead included, until read is
// set back.
type itemReader struct {
	in   io.Reader
	read int
}

func (r *itemReader) Read(p []byte) (int, error) {
	if r.read > 2*MaxLine {
		return 0, errLongLine
	}
	n, err := r.in.Read(p)
	r.read += n
	return n, err
}

// intoList goes to the first element of the list, or of the first list in an object.
func intoList(dec *json.Decoder) error {
	tok, err := dec.Token()
	switch {
	case err != nil:
		return err
	case tok == json.Delim('['):
		return nil
	case tok != json.Delim('{'):
		return errors.New("it begins with " + foundOf(kindOfToken(tok)))
	}
	for dec.More() {
		if _, err := dec.Token(); err != nil { // a key
			return err
		}
		for depth := 0; ; {
			tok, err := dec.Token()
			switch {
			case err == io.EOF:
				return io.ErrUnexpectedEOF
			case err != nil:
				return err
			case tok == json.Delim('[') && depth == 0:
				return nil
			case tok == json.Delim('{'), tok == json.Delim('['):
				depth++
			case tok == json.Delim('}'), tok == json.Delim(']'):
				depth--
			}
			if depth == 0 {
				break
			}
		}
	}
	return errors.New("there is no list in it")
}

// kindOfToken names what a value is as encoding/json's errors do.
func kindOfToken(tok json.Token) string {
	switch tok.(type) {
	case string:
		return "string"
	case float64, json.Number:
		return "number"
	case bool:
		return "bool"
	}
	return fmt.Sprint(tok)
}

// chatGPTConversation is an item of conversations.json.
type chatGPTConversation struct {
	ID             string  `json:"id"`
	ConversationID string  `json:"conversation_id"`
	Title          string  `json:"title"`
	Created        float64 `json:"create_time"`
	Updated        float64 `json:"update_time"`
	Current        string  `json:"current_node"`
	Messages       left    `json:"chat_messages"`
	Mapping        map[string]struct {
		Parent  string `json:"parent"`
		Message *struct {
			ID      string   `json:"id"`
			Created *float64 `json:"create_time"`
			Author  struct {
				Role memory.Role `json:"role"`
			} `json:"author"`
			Content struct {
				Parts []json.RawMessage `json:"parts"`
			} `json:"content"`
		} `json:"message"`
	} `json:"mapping"`
}

// chatGPT reads a conversation of conversations.json: a tree of messages, of which the
// path to the current one is taken, and of that what the two sides said in words.
func (r Reader) chatGPT(n int, item []byte) error {
	var c chatGPTConversation
	if err := json.Unmarshal(item, &c); err != nil {
		return wrong{memory.Errorf(memory.Invalid, "is not a conversation: %s", amiss(err))}
	}
	if c.Messages != nil { // the other one's file has the same name
		return r.claude(n, item)
	}
	if c.ConversationID == "" {
		c.ConversationID = c.ID
	}
	if c.ConversationID == "" || len(c.Mapping) == 0 {
		return wrong{memory.Errorf(memory.Invalid, "is not a conversation: it has no id or no mapping")}
	}
	conversation := memory.Conversation{
		ID: r.ID("chatgpt", c.ConversationID), Owner: r.Owner, Project: r.Project, Title: c.Title,
		CreatedAt: unix(c.Created), UpdatedAt: unix(c.Updated),
	}
	var path []memory.Turn
	met := map[string]bool{}
	for at := c.Current; at != "" && !met[at]; at = c.Mapping[at].Parent {
		met[at] = true
		m := c.Mapping[at].Message
		if m == nil || m.Author.Role != memory.RoleUser && m.Author.Role != memory.RoleAssistant {
			continue
		}
		t := memory.Turn{
			ID: r.ID("chatgpt", c.ConversationID, at), Owner: r.Owner, Conversation: conversation.ID, Project: r.Project,
			Role: m.Author.Role, Content: partsOf(m.Content.Parts), Ref: text.Clip(m.ID, 256), Status: memory.Active,
		}
		if m.Created != nil {
			t.CreatedAt = unix(*m.Created)
		}
		if t.Content != "" {
			path = append(path, t)
		}
	}
	slices.Reverse(path)
	return r.chat(n, conversation, path)
}

// chat hands on a conversation of item n and what was said in it, the first first.
// A turn that has no time has that of the one before it. Where nothing was said in
// words there is no conversation.
func (r Reader) chat(n int, c memory.Conversation, path []memory.Turn) error {
	if len(path) == 0 {
		return nil
	}
	if c.CreatedAt.IsZero() {
		c.CreatedAt = path[0].CreatedAt
	}
	if err := r.give(Record{Line: n, Size: 200, Made: true, Conversation: &c}); err != nil {
		return err
	}
	last := c.CreatedAt
	for i := range path {
		t := &path[i]
		if t.CreatedAt.IsZero() {
			t.CreatedAt = last
		}
		last = t.CreatedAt
		if err := r.give(Record{Line: n, Size: len(t.Content), Made: true, Turn: t}); err != nil {
			return err
		}
	}
	return nil
}

// partsOf returns the text among the parts of a message; images and files are objects.
func partsOf(parts []json.RawMessage) string {
	var texts []string
	for _, p := range parts {
		var s string
		if json.Unmarshal(p, &s) == nil && strings.TrimSpace(s) != "" {
			texts = append(texts, s)
		}
	}
	return strings.Join(texts, "\n")
}

// unix reads seconds since 1970 as programs write them; what is not a time of people's
// is none.
func unix(seconds float64) time.Time {
	if !(seconds > 0 && seconds < 1e11) {
		return time.Time{}
	}
	whole, part := math.Modf(seconds)
	return memory.Time(time.Unix(int64(whole), int64(part*1e9)))
}

// mem0 reads a memory as mem0's get_all gives it.
func (r Reader) mem0(n int, item []byte) error {
	var m struct {
		ID         string          `json:"id"`
		Memory     string          `json:"memory"`
		Text       string          `json:"text"`
		Categories []string        `json:"categories"`
		Metadata   json.RawMessage `json:"metadata"`
		Created    string          `json:"created_at"`
		Updated    string          `json:"updated_at"`
		Expires    string          `json:"expiration_date"`
	}
	if err := json.Unmarshal(item, &m); err != nil {
		return wrong{memory.Errorf(memory.Invalid, "is not a memory: %s", amiss(err))}
	}
	if m.Memory == "" {
		m.Memory = m.Text
	}
	f := memory.Fact{
		Content: m.Memory, Tags: m.Categories, Trust: memory.TrustUser, Scope: memory.Scope{Project: r.Project},
		CreatedAt: someTime(m.Created), UpdatedAt: someTime(m.Updated), ExpiresAt: someTime(m.Expires),
	}
	if len(m.Categories) > 0 {
		f.Category = m.Categories[0]
	}
	if bytes.HasPrefix(bytes.TrimSpace(m.Metadata), []byte("{")) && len(m.Metadata) > 2 {
		f.Metadata = m.Metadata
	}
	return r.give(Record{Line: n, Size: len(item), Made: true, Fact: &f})
}

// someTime reads a time in any of the ways that programs write it; zero for none.
func someTime(s string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999", "2006-01-02 15:04:05.999999", "2006-01-02"} {
		if t, err := time.Parse(layout, strings.TrimSpace(s)); err == nil {
			return memory.Time(t)
		}
	}
	return time.Time{}
}
