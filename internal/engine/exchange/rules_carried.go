package exchange

import (
	"github.com/loci-memory/loci/memory"
)

// read reports whether a model reads the chat. loci/recall answers from memory alone.
func (x *Exchange) read() bool {
	return x.e.Opts.Recall.Read && x.In.Chat.Model != memory.RecallModel
}

// carries returns which turns recall does not give to the request, by id: those that it holds,
// of a chat that no model reads the question alone, and those that it takes the place of.
func (x *Exchange) carries() map[string]bool {
	out := map[string]bool{}
	for i, id := range x.At.Turns {
		if id != "" && (x.read() || i >= x.In.Chat.LastUser()) {
			out[id] = true
		}
	}
	for id := range x.replaces() {
		out[id] = true
	}
	return out
}

// replaces returns the turns that the request takes the place of, by id.
func (x *Exchange) replaces() map[string]bool {
	out := map[string]bool{}
	for _, id := range x.At.Leave {
		out[id] = true
	}
	return out
}

// Said returns what the request says, if a model reads it: the others must be told.
func (x *Exchange) Said() []string {
	if !x.read() {
		return nil
	}
	var said []string
	for _, m := range x.In.Chat.Messages {
		said = append(said, m.Text)
	}
	return said
}
