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

// Format is a file format for exports and imports.
type Format string

// The formats. JSONL, Markdown and Zip can be written. All formats except Zip can be read.
const (
	JSONL       Format = "jsonl"        // one record as JSON per line
	Markdown    Format = "markdown"     // one file for people to read and edit
	Zip         Format = "zip"          // a zip of Markdown files
	List        Format = "list"         // one fact per line, with or without bullets
	ChatGPT     Format = "chatgpt"      // conversations.json
	Claude      Format = "claude"       // conversations.json
	Mem0        Format = "mem0"         // a JSON list of memories
	BasicMemory Format = "basic-memory" // one note: front matter, observations
	AgentCLI    Format = "agent-cli"    // one memory: front matter and text
)

// Formats lists the readable formats. Callers read a zip file by file.
var Formats = []Format{JSONL, Markdown, List, ChatGPT, Claude, Mem0, BasicMemory, AgentCLI}

// Unit returns the unit of [Record.Line]: "line", or "item" for items of a JSON list.
func (f Format) Unit() string {
	if slices.Contains([]Format{ChatGPT, Claude, Mem0}, f) {
		return "item"
	}
	return "line"
}

var agentCLIPattern = lazy.Compile(`(?m)^conversation_id:`)

// FormatOf guesses the format of a file from its name and its beginning.
func FormatOf(name string, beginning []byte) Format {
	beginning = bytes.TrimLeft(bytes.TrimPrefix(beginning, []byte(byteOrderMark)), " \t\r\n")
	isJSON := len(beginning) > 0 && (beginning[0] == '[' || beginning[0] == '{')
	switch {
	case bytes.HasPrefix(beginning, []byte(`{"type":`)), strings.HasSuffix(name, ".jsonl"), strings.HasSuffix(name, ".ndjson"):
		return JSONL
	case isJSON && bytes.Contains(beginning, []byte(`"mapping"`)):
		return ChatGPT
	case isJSON && bytes.Contains(beginning, []byte(`"chat_messages"`)):
		return Claude
	case isJSON:
		return Mem0
	case bytes.Contains(beginning, []byte("<!-- loci {")):
		return Markdown
	case bytes.HasPrefix(beginning, []byte("---")) && agentCLIPattern.Match(beginning):
		return AgentCLI
	case bytes.HasPrefix(beginning, []byte("---")):
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
	Line    int  // number of the line or list item in the file, from 1
	Size    int  // size of the line or item in the file, in bytes
	Foreign bool // whether the record is from another program's export, so that its id is derived and stored records are not overwritten

	Header       *Header
	Conversation *memory.Conversation
	Turn         *memory.Turn
	Fact         *memory.Fact
	Summary      *memory.Summary
	Profile      *memory.ProfileEntry
	Relation     *memory.Relation
	Context      *memory.Context
}

// Header is the first record of an export. It does not name the user whose memory was exported.
type Header struct {
	Type       string    `json:"type"`    // always "header"
	Format     string    `json:"format"`  // name of Loci's export format
	Version    int       `json:"version"` // version of Loci's export format
	ExportedAt time.Time `json:"exported_at"`
	AsOf       time.Time `json:"as_of,omitzero"`
	ValidAt    time.Time `json:"valid_at,omitzero"`
	Project    string    `json:"project,omitempty"`
}

// NewHeader returns the header of an export. at contains the times for which memory was selected, or zero
// times for the current memory; project "" means all projects.
func NewHeader(exportedAt time.Time, at memory.At, project string) *Header {
	return &Header{
		Type: "header", Format: formatName, Version: formatVersion, ExportedAt: exportedAt,
		AsOf: memory.Time(at.AsOf), ValidAt: memory.Time(at.ValidAt), Project: project,
	}
}

// Text returns the record's text, or nil for a kind of record without text.
func (r Record) Text() *string {
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

// Target returns the record's target in the form of [memory.State.Target], also for conversations
// and turns: "conversation:ID" and "turn:ID".
func (r Record) Target() string {
	switch {
	case r.Conversation != nil:
		return "conversation:" + r.Conversation.ID
	case r.Turn != nil:
		return "turn:" + r.Turn.ID
	}
	return r.State().Target()
}

// State returns the record as a state, or the zero State for kinds that changes cannot add.
func (r Record) State() memory.State {
	return memory.State{Fact: r.Fact, Summary: r.Summary, Profile: r.Profile, Relation: r.Relation, Context: r.Context}
}

// Memory returns the record as a memory, or the zero Memory for kinds that searches do not return.
func (r Record) Memory() memory.Memory {
	return memory.Memory{Turn: r.Turn, Fact: r.Fact, Summary: r.Summary}
}

// EqualExceptText reports whether two records are equal apart from their texts.
func (r Record) EqualExceptText(other Record) bool {
	one, err1 := json.Marshal(r.jsonValue(nil))
	two, err2 := json.Marshal(other.jsonValue(nil))
	return err1 == nil && err2 == nil && bytes.Equal(one, two)
}

// Writer writes records. The header must be the first.
type Writer interface {
	Write(Record) error

	// Close completes the output. It does not close the underlying writer.
	Close() error
}
