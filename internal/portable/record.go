package portable

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/memory"
)

// Format is an external format of memory.
type Format string

// The formats. The first three can be written, and all but zips can be read.
const (
	JSONL       Format = "jsonl"
	Markdown    Format = "markdown"
	Zip         Format = "zip"          // of Markdown files
	List        Format = "list"         // one fact a line, bullets or not
	ChatGPT     Format = "chatgpt"      // conversations.json
	Claude      Format = "claude"       // conversations.json
	Mem0        Format = "mem0"         // a JSON list of memories
	BasicMemory Format = "basic-memory" // one note: front matter, observations
	AgentCLI    Format = "agent-cli"    // one memory: front matter and its words
)

// Formats are the readable formats: a zip of Markdown is read file by file.
var Formats = []Format{JSONL, Markdown, List, ChatGPT, Claude, Mem0, BasicMemory, AgentCLI}

// Unit is what [Record.Line] counts: lines, or items of a JSON list.
func (f Format) Unit() string {
	if slices.Contains([]Format{ChatGPT, Claude, Mem0}, f) {
		return "item"
	}
	return "line"
}

var frontMatterOf = lazy.Compile(`(?m)^conversation_id:`)

// FormatOf returns the format of a file by its name and beginning.
func FormatOf(name string, head []byte) Format {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte(byteOrderMark)), " \t\r\n")
	isJSON := len(head) > 0 && (head[0] == '[' || head[0] == '{')
	switch {
	case bytes.HasPrefix(head, []byte(`{"type":`)), strings.HasSuffix(name, ".jsonl"), strings.HasSuffix(name, ".ndjson"):
		return JSONL
	case isJSON && bytes.Contains(head, []byte(`"mapping"`)):
		return ChatGPT
	case isJSON && bytes.Contains(head, []byte(`"chat_messages"`)):
		return Claude
	case isJSON:
		return Mem0
	case bytes.Contains(head, []byte("<!-- loci {")):
		return Markdown
	case bytes.HasPrefix(head, []byte("---")) && frontMatterOf.Match(head):
		return AgentCLI
	case bytes.HasPrefix(head, []byte("---")):
		return BasicMemory
	}
	return List
}

const (
	formatName    = "loci"
	formatVersion = 1
)

// Record is one exported or imported item. Exactly one pointer is set.
type Record struct {
	Line int  // number in the file, from 1: of the line, or of the item of a JSON list
	Size int  // its size in the file
	Made bool // it is foreign, with a derived id: it is stored unless it exists; a turn is appended to its conversation

	Header       *Header
	Conversation *memory.Conversation
	Turn         *memory.Turn
	Fact         *memory.Fact
	Summary      *memory.Summary
	Profile      *memory.ProfileEntry
	Relation     *memory.Relation
	Context      *memory.Context
}

// Header is the first record of an export. It names no user.
type Header struct {
	Type       string    `json:"type"`
	Format     string    `json:"format"`
	Version    int       `json:"version"`
	ExportedAt time.Time `json:"exported_at"`
	AsOf       time.Time `json:"as_of,omitzero"`
	ValidAt    time.Time `json:"valid_at,omitzero"`
	Project    string    `json:"project,omitempty"`
}

// NewHeader returns the header of an export made at a time, of memory at another and of one project
// or all.
func NewHeader(made time.Time, at memory.At, project string) *Header {
	return &Header{
		Type: "header", Format: formatName, Version: formatVersion, ExportedAt: made,
		AsOf: memory.Time(at.AsOf), ValidAt: memory.Time(at.ValidAt), Project: project,
	}
}

// Words returns the record's text, nil if its kind has none.
func (r Record) Words() *string {
	switch {
	case r.Turn != nil:
		return &r.Turn.Content
	case r.Fact != nil:
		return &r.Fact.Content
	case r.Summary != nil:
		return &r.Summary.Text
	case r.Profile != nil:
		return &r.Profile.Value
	case r.Context != nil:
		return &r.Context.Content
	}
	return nil
}

// Target names the record: as [memory.Image.Target] does, or as "conversation:ID" or "turn:ID".
func (r Record) Target() string {
	switch {
	case r.Conversation != nil:
		return "conversation:" + r.Conversation.ID
	case r.Turn != nil:
		return "turn:" + r.Turn.ID
	}
	return r.Image().Target()
}

// Image is the record in a change; the zero Image for kinds that no change adds.
func (r Record) Image() memory.Image {
	return memory.Image{Fact: r.Fact, Summary: r.Summary, Profile: r.Profile, Relation: r.Relation, Context: r.Context}
}

// Memory is the record in recall; the zero Memory for kinds that recall does not return.
func (r Record) Memory() memory.Memory {
	return memory.Memory{Turn: r.Turn, Fact: r.Fact, Summary: r.Summary}
}

// SameMarks reports whether two records differ at most in their words.
func (r Record) SameMarks(other Record) bool {
	one, err1 := json.Marshal(r.value(nil))
	two, err2 := json.Marshal(other.value(nil))
	return err1 == nil && err2 == nil && bytes.Equal(one, two)
}

// Writer writes records, the header first.
type Writer interface {
	Write(Record) error

	// Close completes the output but does not close the underlying writer.
	Close() error
}
