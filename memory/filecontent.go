package memory

// FileContent is what a file of a vault shows: a fact with what stands beside it, or one other
// thing. The zero FileContent shows nothing.
type FileContent struct {
	Fact         *Fact
	Relations    *[]Relation // of the fact to others, in order; nil for none
	Shared       *[]Owner    // whom the fact is shared with, in order; nil for nobody
	Turn         *Turn
	Summary      *Summary
	Profile      *ProfileEntry
	Conversation *Conversation
	Context      *Context
}

// Image returns what a change shows of the content: the fact alone, and the marks of a turn and of
// a conversation.
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
