// Package thread finds the stored conversation that a request continues, and which of its messages
// are new. It is pure: stored turns and messages in, a plan out.
//
// Clients of chat completions send no conversation id and resend their history each time. They
// retry, regenerate, edit earlier messages, run tool loops, and shorten or summarize long
// histories. Stored turns form a tree ([memory.Turn]), with which a request is matched:
//
//	NewRequest reads its messages
//	Chains     the hash of each beginning of the request: one look-up of stored turns
//	Shortlist  the conversations worth reading in full
//	Choose     the one that the request continues, if any
//	Align      its messages on that tree: stored ones, new ones, turns that leave the path
//	Follow     the same for a client that names the turn before the request
//	Resume     the same for a request that is already stored
//	Answer     the same for the answer
//	Path       the resulting path, which the store checks for the writer
//
// A request continues a conversation if it has its id, or an answer that went through Loci. A text
// that a client sends each time, such as a canned first exchange, is no evidence, and a message
// without history is always new. Turns leave the path only if such a request replaces a stored
// message; a shorter, summarized or missing history removes nothing. Other messages are appended or
// begin a new conversation.
//
// System messages do not belong to a conversation: they are neither compared nor kept.
package thread
