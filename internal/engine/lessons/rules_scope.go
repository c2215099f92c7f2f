package lessons

import (
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/learn"
)

// givePlace says of each candidate of a lesson in a project whether it belongs to that project.
func (e *Learner) givePlace(l *lesson) {
	if l.scope.Project == "" || l.scope.Conversation != "" || e.Opts.Learn.Scope == core.OfProject {
		return
	}
	for i := range l.cands {
		c := &l.cands[i]
		quote := c.Quote
		if c.Span != nil {
			quote = l.turn(c.Span.Turn).Content[c.Span.Start:c.Span.End]
		}
		c.Everywhere = !learn.OfProject(*c, quote)
	}
}
