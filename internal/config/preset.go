package config

import (
	"errors"

	"github.com/goccy/go-yaml"
)

// Preset holds the options that only a profile can set. docs/profiles.md shows the comments of its fields.
type Preset struct {
	Turns     string // which turns are recalled next to facts: all, told (only what a person tells) or none
	Questions bool   // whether earlier greetings and questions are recalled like other turns
	Reach     string // what a chat is answered from: user (all memory) or conversation (with the 200 most recent turns of others while it has fewer than 50)
	SmallSet  int    `yaml:"small_set"` // a user with at most this many facts gets all of them, without a search
	Bootstrap int    // a user with fewer facts is answered from the global pool, too
	Fallback  string // when the 10 most recent facts replace a search: none (never), error (it fails) or empty (it finds nothing)

	Messages int    // how many of the last user messages form the question of a chat
	Expand   bool   // whether words about people are added to short first-person questions before they are embedded
	EmbedAs  string `yaml:"embed_as"` // whether a question is embedded as a question or as a document

	Candidates int     // candidates of each search, for each memory that may be shown; 0: 160 in all
	Lambda     float64 // weight of the score against similarity to better hits; 1: similarity is ignored
	SinceSaid  bool    `yaml:"since_said"` // whether recency counts from when a fact was said, not from its last change

	Heading string // heading over the memory in a prompt; empty: that of its placement
	Hint    string // a sentence added to the introduction of the memory in a prompt
	Roles   bool   // whether each memory begins with the role of its speaker
	Summary bool   // whether a chat gets its conversation's summary with each message
	Named   bool   // whether an answer that is not streamed lists what was recalled as memories, too

	Reply         string // form of the learning model's reply: ops (operations on facts), line (one fact or NOTHING) or memories (a list of facts)
	Context       int    // how many earlier messages the learning model reads with the new ones
	Exchanges     int    // number of the exchange with which learning begins in a conversation
	KeepSummaries bool   `yaml:"keep_summaries"` // whether a new summary leaves the earlier ones in place
}

// plainPreset holds the defaults of a preset.
func plainPreset() Preset {
	return Preset{
		Turns: "all", Reach: "user", Bootstrap: 5, Fallback: "error", Messages: 1, EmbedAs: "question", Lambda: 0.7, Reply: "ops", Context: 8, Exchanges: 1,
	}
}

// readProfile returns the settings and the preset in a profile's file.
func readProfile(data []byte) (settings map[string]any, _ Preset, err error) {
	file := struct{ Preset Preset }{plainPreset()}
	err = errors.Join(yaml.Unmarshal(data, &file), yaml.Unmarshal(data, &settings))
	delete(settings, "preset")
	return settings, file.Preset, err
}
