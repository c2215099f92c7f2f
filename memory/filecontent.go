package memory

// FileContent is the content of a vault's file: a fact with its relations and shares, or one other
// thing. The zero FileContent is empty.
type FileContent struct {
	Fact         *Fact
	Relations    *[]Relation // of the fact to others, in order; nil for none
	Shared       *[]Owner    // the fact's receivers, in order; nil for none
	Turn         *Turn
	Summary      *Summary
	Profile      *ProfileEntry
	Conversation *Conversation
	Context      *Context
}

// Image returns the part of the content that a change can hold: the fact alone, and the marks of a
// turn and of a conversation.
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
