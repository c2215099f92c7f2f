// Package memory defines the types of Loci: memories, their owners and changes, and the interfaces
// of stores, searchers and models. It depends only on the standard library and does no I/O.
//
// # Types
//
//	Owner         the user or group whose memory it is; the first argument and column everywhere
//	Fact          one short standalone statement, with its source
//	Turn          one verbatim message of a conversation
//	Summary       a rolling summary of a conversation
//	ProfileEntry  a key and a value about a user
//	Relation      two facts that belong together
//	Link          makes a fact of one owner visible to another
//	Memory        a fact, turn or summary: the things that a search can return
//
// # Changes
//
// A [Run] is one execution of a job or one request. [Facts.Apply] applies its [Change] values
// together or not at all, under one version and one time of the owner. The journal keeps them with
// the whole state before and after each change: history, undo and reads of a past time need nothing
// else.
//
// # Times
//
// All times are UTC with microseconds; [Time] converts them. Two time axes are distinct: "as of T"
// is what was recorded at T, "valid at T" is what was true at T.
package memory
