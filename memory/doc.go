// Package memory defines the types of Loci: memories, their owners and changes, and the interfaces
// of stores, searchers and models. It depends only on the standard library and does no I/O.
//
// # Types
//
//	Owner         the user, pool or global pool to which memory belongs
//	Fact          one short standalone statement, with its source
//	Turn          one stored message of a conversation, verbatim
//	Summary       a rolling summary of a conversation
//	ProfileEntry  a key and a value about a user
//	Relation      a connection between two facts
//	Link          makes a fact of one owner visible to another
//	Memory        a fact, turn or summary; searches return these
//
// # Changes
//
// A [Run] is one execution of a job or one request that changes memory. [Facts.Apply] applies its [Change]
// values together or not at all, under one version and one time of the owner. The journal contains each
// change with the target's whole state before and after it. History, undo and reads of a past time use only
// the journal.
//
// # Times
//
// All times are UTC with microseconds; [Time] converts them. Two time axes are distinct: "as of T"
// selects data as recorded at T, "valid at T" selects facts that were true at T.
package memory
