// Package thread finds the stored conversation that a request continues, and which messages of the request
// are new. Its functions are pure: they take stored turns and messages and return a plan.
//
// Clients of the chat completions API send no conversation id and resend the whole history each time. They
// retry, regenerate, edit earlier messages, run tool loops, and shorten or summarize long histories. Stored
// turns form a tree ([memory.Turn]), and a request is matched with this tree:
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
// A request continues a conversation if it has its id, or an answer that went through Loci. A text that a
// client sends each time, such as a fixed first exchange, is no evidence, and a message without history is
// always new. Turns leave the current branch only if such a request replaces a stored message; a shorter,
// summarized or missing history removes nothing. Other messages are appended or begin a new conversation.
//
// System messages are not part of a conversation: they are neither compared nor stored.
package thread
