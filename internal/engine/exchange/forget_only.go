package exchange

import (
	"github.com/loci-memory/loci/internal/engine/lessons"
	"github.com/loci-memory/loci/memory"
)

// asksToForget reports whether the new user turn is not learned from and wishes
// something to be forgotten.
func (x *Exchange) asksToForget() bool {
	if x.learns || x.Hides() || x.Asked == "" {
		return false
	}
	return lessons.WishesToForget(memory.Turn{ID: x.Asked, Role: memory.RoleUser, Content: x.In.Chat.Messages[x.In.Chat.LastUser()].Text})
}
