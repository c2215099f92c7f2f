// Package dialog says which conversation a request continues and which of its
// messages are new. It is pure: stored turns and messages in, a plan out.
//
// Clients of chat completions send no conversation id and resend the whole
// history each time; they retry, regenerate, edit earlier messages and run tool
// loops. Stored turns form a tree ([memory.Turn]). A request is laid on the tree
// from its root; what it shares with a path is known, the rest is new. The steps:
//
//	NewRequest reads its messages
//	Chains     which paths they would end: one look-up of stored turns
//	Shortlist  the conversations worth reading in full
//	Choose     the one that the request continues, if any
//	Align      its messages against that tree: what is new, what leaves, what comes back
//	Follow     the same where the client says which turn the request follows
//	Answer     the same for the answer, once it is there
//	Path       what is then the current path, which the store holds the writer to
//
// System messages are no part of a conversation: they are neither compared nor
// kept. When in doubt nothing is taken out of a conversation that exists: a new
// one costs a few turns kept twice, a wrong merge would hide what a user said.
package dialog
