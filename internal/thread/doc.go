// Package thread finds the stored conversation that a request continues, and the new messages of the request.
// Its functions are pure: they take stored turns and messages and return a plan.
//
// Clients of the chat completions API send no conversation id and send the whole history again with each
// request. They retry, regenerate, edit earlier messages, run tool loops, and shorten or summarize long
// histories. Stored turns form a tree ([memory.Turn]), with which a request is matched:
//
//   - [NewRequest] parses the messages of a request
//   - [Request.Chains] returns the hash of each beginning of the request, to look up stored turns
//   - [ShortlistConversations] returns the conversations to load
//   - [ChooseConversation] returns the conversation that the request continues, if any
//   - [Align] matches the messages with the conversation's tree: stored, new and replaced turns
//   - [AlignAfter] aligns a request whose client names the turn before it
//   - [AlignStored] aligns a request that is already stored
//   - [Alignment.AlignAnswer] aligns the answer
//   - [Alignment.Path] returns the resulting path, which the store checks
//
// A request continues a conversation if it has the conversation's id, or one of its answers that went through Loci.
// A text that a client always sends, such as a fixed first exchange, is no evidence, and a message without history
// is always new. A request removes turns from the current branch only if it replaces a stored message; a shorter,
// summarized or missing history removes no turns. Other messages are appended or begin a new conversation.
//
// System messages are not part of a conversation: they are neither compared nor stored.
package thread
