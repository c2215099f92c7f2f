package core

import (
	"github.com/loci-memory/loci/memory"
)

// ByDialog is who decides that a turn left the path, or came back to it.
var ByDialog = memory.Author{Kind: memory.ByRule, Name: "dialog"}
