// Package vault is a [memory.Store] around another store whose memories are also a folder of
// Markdown files, which people read, edit and keep in git. The store within answers every read,
// judges every write and keeps the history. The files show the present.
//
// # From the store to files
//
// A write is acknowledged once the store within has committed it. Its things are then dirty; their
// files are written, in the state of then, under another name, synced, and renamed. Tables of
// records have the last texts of each file, and for each owner the version up to which all files
// were written. After a crash the next start asks the store for later changes
// ([Store.changedSince]), and writes those.
//
// # From files to the store
//
// [Store.Scan] compares the folder with the hashes of what Loci last wrote and returns people's
// edits as values of [Edit]. An edit counts key by key: the file is compared with the text last
// written ([loader.merge]), so that what a person left unchanged does not undo Loci's changes. The
// caller makes changes of edits, and answers with [Store.Accept] or [Store.Refuse].
//
// A store within that is empty, or older than the index says, is completed from the files
// ([Store.rebuild]); its history starts over. Vectors are computed again.
//
// Erasing removes text from the store within, then from the files; the next start completes it
// after a crash.
//
// # Folder
//
//	entries/CONVERSATION/turns/ROLE/TIME__ID.md
//	entries/CONVERSATION/facts/TIME__ID.md          facts of that conversation alone
//	entries/CONVERSATION/summaries/summary.md       the current summary; earlier ones as TIME__ID.md
//	entries/CONVERSATION/conversation.md            title, rules, contexts
//	entries/global/facts/TIME__ID.md                facts of no conversation
//	entries/global/profile/KEY.md                   profile entries
//	entries/global/contexts/ID.md                   documents that are attached to conversations
//	deleted/entries/…                               the same, of what was replaced, forgotten or rejected
//	users/NAME/… pools/NAME/… everyone/…            the same, of other owners than [Options].Home
//	namespaces/NAME/users/NAME/…                    and of other namespaces
//	….conflict-TIME.md                              a person's words where Loci changed the file meanwhile
//	.loci/files.db                                  the records: what Loci last wrote to each file
//	.loci/lock                                      held while a process has the vault open
//	.loci/erasing                                   there while words are being erased, and after a crash meanwhile
//
// Names are escaped so that no two collide on a disk that folds case, none leaves its folder, and
// none is too long. A relation is a link in the file of the fact that it starts at; only a rebuild
// reads it. A fact's file also lists the fact's receivers; their links have no files, and a rebuild
// creates them again.
//
// # Files
//
// A file is front matter between two lines of "---", then a memory's text byte for byte and one
// line end. Other keys and comments survive when Loci rewrites a file, below its own. The status in
// a file counts, but for a file moved between entries and deleted the folder does. A file that
// equals an earlier version by Loci, byte for byte, was put back, and counts as it is.
package vault
