// Package thread finds the stored conversation that a request continues, and which of the
// request's messages are new. It is pure: stored turns and messages in, a plan out.
//
// Clients of chat completions send no conversation id and resend their history each time.
// They retry, regenerate, edit earlier messages, run tool loops, and shorten or summarize a
// history that grew too long. Stored turns form a tree ([memory.Turn]), and a request is
// laid on it:
//
//	NewRequest reads its messages
//	Chains     the hash of each beginning of the request: one look-up of stored turns
//	Shortlist  the conversations worth reading in full
//	Choose     the one that the request continues, if any
//	Align      its messages on that tree: what is known, what is new, what leaves the path
//	Follow     the same for a client that names the turn which the request follows
//	Resume     the same for a request that is known to be stored
//	Answer     the same for the answer, once it is there
//	Path       the path that results, which the store holds the writer to
//
// Evidence that a request continues a conversation is an id, or an answer that went through
// Loci and comes back. Text that a client sends each time, such as a canned first exchange,
// is none, and a message without its history is new each time. Turns leave the path only where the request, on such evidence, puts another
// message in the place of one that is stored; a history that is shorter, summarized or
// absent takes nothing away, and what cannot be placed is added at the end or begins a new
// conversation.
//
// System messages are no part of a conversation: they are neither compared nor kept.
package thread
