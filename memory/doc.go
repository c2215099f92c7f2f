// Package memory holds the words of Loci: what is remembered, whose it is, how
// it changes, and the contracts that stores, searchers and models keep. It
// depends on the standard library alone and does no I/O.
//
// # What is kept
//
//	Owner         whose memory it is; the first argument and the first column of everything
//	Fact          one short standalone statement, with where it came from
//	Turn          one verbatim message of a conversation
//	Summary       what a conversation was about, rolling
//	ProfileEntry  a key and a value about a user
//	Relation      two facts that belong together
//	Link          a fact of one owner made visible to another
//	Memory        any of fact, turn, summary: what recall can return
//
// # How it changes
//
// A [Run] is one execution of a job or one request. Its [Change] values are
// applied by [Facts.Apply] together or not at all, under a version and a time
// of the owner's own clock, and stay in the journal with the whole state before
// and after, so that history, undo and "what was known at T" need nothing else.
//
// # Times
//
// All times are UTC with microseconds ([Time] makes them so). Two axes are never
// mixed: as of T is what had been recorded at T, valid at T is what was true at T.
package memory
