package config

import (
	"errors"

	"github.com/goccy/go-yaml"
)

// Preset holds the options that only a profile can set. docs/profiles.md repeats the comments of the fields.
type Preset struct {
	Turns     string // turns that are recalled besides facts: all, told (only statements of a person) or none
	Questions bool   // whether earlier greetings and questions are recalled like other turns
	Reach     string // memory that a chat may use: user (all memory) or conversation (only its own; while the conversation has fewer than 50 turns, also the 200 most recent turns of other conversations)
	SmallSet  int    `yaml:"small_set"` // number of facts up to which a prompt contains all facts of the user, without a search
	Bootstrap int    // number of facts below which recall also uses the global pool
	Fallback  string // when the 10 most recent facts replace the search results: none (never), error (after an error) or empty (after a search without hits)

	Messages int    // number of latest user messages that form the question of a chat
	Expand   bool   // whether short first-person questions are extended by words about people before embedding
	EmbedAs  string `yaml:"embed_as"` // how the embedder encodes a question: as a question or as a document

	Candidates int     // number of candidates that each search reads for each memory of recall.top_k; 0 means 160 in all
	Lambda     float64 // weight of a hit's score against its similarity to better hits; 1 ignores similarity
	SinceSaid  bool    `yaml:"since_said"` // whether the age of a fact counts from the time when it was said, not from its last change

	Heading string // heading above the memory in a prompt; empty means the default heading of the placement
	Hint    string // sentence added to the introduction of the memory in a prompt
	Roles   bool   // whether each memory begins with the role of its speaker
	Summary bool   // whether a chat gets its conversation's summary with each message
	Named   bool   // whether an answer without streaming also lists the recalled memories in the field memories

	Reply         string // form of the learning model's reply: ops (operations on facts), line (one fact or NOTHING) or memories (a list of facts)
	Context       int    // number of earlier messages that the learning model reads together with the new messages
	Exchanges     int    // exchange of a conversation at which learning begins; 1 is the first
	KeepSummaries bool   `yaml:"keep_summaries"` // whether earlier summaries stay when a new summary is written
}

// defaultPreset returns the options of the default profile.
func defaultPreset() Preset {
	return Preset{
		Turns: "all", Reach: "user", Bootstrap: 5, Fallback: "error", Messages: 1, EmbedAs: "question", Lambda: 0.7, Reply: "ops", Context: 8, Exchanges: 1,
	}
}

// parseProfile parses the settings and the preset in a profile's file.
func parseProfile(data []byte) (settings map[string]any, _ Preset, err error) {
	file := struct{ Preset Preset }{defaultPreset()}
	err = errors.Join(yaml.Unmarshal(data, &file), yaml.Unmarshal(data, &settings))
	delete(settings, "preset")
	return settings, file.Preset, err
}
