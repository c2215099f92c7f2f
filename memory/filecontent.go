package memory

// FileContent is the content of a file in a vault: a fact with its relations and shares, or one record of
// another kind.
type FileContent struct {
	Fact         *Fact
	Relations    *[]Relation // relations from the fact to other facts, in order; nil if the file lists none
	Shared       *[]Owner    // owners with whom the fact is shared, in order; nil if the file lists none
	Turn         *Turn
	Summary      *Summary
	Profile      *ProfileEntry
	Conversation *Conversation
	Context      *Context
}

// State returns the part of the content that a change can set: a fact without its relations and shares, and
// of a turn or conversation only the changeable fields.
func (c FileContent) State() State {
	i := State{Fact: c.Fact, Summary: c.Summary, Profile: c.Profile, Context: c.Context}
	if c.Turn != nil {
		i.Turn = &TurnState{ID: c.Turn.ID, Status: c.Turn.Status}
	}
	if c.Conversation != nil {
		state := c.Conversation.State()
		i.Conversation = &state
	}
	return i
}
