package memory

// FileContent is the content of a file in a vault: a fact with its relations and shares, or another
// thing. The zero FileContent is empty.
type FileContent struct {
	Fact         *Fact
	Relations    *[]Relation // relations that start at the fact, in order; nil: none
	Shared       *[]Owner    // owners who share the fact, in order; nil: none
	Turn         *Turn
	Summary      *Summary
	Profile      *ProfileEntry
	Conversation *Conversation
	Context      *Context
}

// Image returns the part of the content that a change can set: for a fact without its relations and
// shares, for a turn or conversation only its mark.
func (c FileContent) Image() Image {
	i := Image{Fact: c.Fact, Summary: c.Summary, Profile: c.Profile, Context: c.Context}
	if c.Turn != nil {
		i.Turn = &TurnMark{ID: c.Turn.ID, Status: c.Turn.Status}
	}
	if c.Conversation != nil {
		mark := c.Conversation.Mark()
		i.Conversation = &mark
	}
	return i
}
