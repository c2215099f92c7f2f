package config

import (
	"errors"

	"github.com/goccy/go-yaml"
)

// Preset is what a profile decides that nobody sets by hand: the section preset of its file.
type Preset struct {
	Turns     string // turns recalled beside facts: all, told (where users tell something), none
	Questions bool   // recall earlier greetings and questions like all other turns
	Reach     string // what a chat is answered from: user, or conversation with the 200 most recent of others while it has fewer than 50
	SmallSet  int    `yaml:"small_set"` // a user with no more facts gets all of them, without a search
	Bootstrap int    // a user with fewer facts is answered from the global pool too
	Fallback  string // when the 10 most recent facts stand in for a search: none, error (it fails), empty (it finds nothing)

	Messages int    // how many of the last user messages are the question of a chat
	Expand   bool   // embed short first-person questions with words about people
	EmbedAs  string `yaml:"embed_as"` // what a question is embedded as: question or document

	Candidates int     // of each search, for each memory that may be shown; 0: 160 in all
	Lambda     float64 // weight of the score against likeness to better hits
	SinceSaid  bool    `yaml:"since_said"` // recency counts from when a fact was said, not from its last change

	Heading string // over the memory in a prompt; "": the one of its placement
	Hint    string // a sentence more that the memory in a prompt says of itself
	Roles   bool   // begin each memory with who said it
	Summary bool   // tell a chat its conversation's summary with each message
	Named   bool   // name what was recalled in a chat's answer as memories too

	Reply         string // form of the learning model's reply: ops, line, memories
	Context       int    // earlier messages that the learning model reads; with another reply than ops, all that it reads together
	Exchanges     int    // exchange of a conversation after which learning begins
	KeepSummaries bool   `yaml:"keep_summaries"` // beside the new one
}

// plainPreset is what a profile begins with.
func plainPreset() Preset {
	return Preset{
		Turns: "all", Reach: "user", Bootstrap: 5, Fallback: "error", Messages: 1, EmbedAs: "question", Lambda: 0.7, Reply: "ops", Context: 8, Exchanges: 1,
	}
}

// readProfile returns the settings of a profile's file, and what it decides beside them.
func readProfile(data []byte) (settings map[string]any, _ Preset, err error) {
	file := struct{ Preset Preset }{plainPreset()}
	err = errors.Join(yaml.Unmarshal(data, &file), yaml.Unmarshal(data, &settings))
	delete(settings, "preset")
	return settings, file.Preset, err
}
