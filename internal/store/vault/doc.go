// Package vault is a [memory.Store] around another store whose memories are also a folder of
// Markdown files, which people read, edit and keep in git. The store within answers every read,
// judges every write and keeps the history. The files show the present.
//
// # From the store to files
//
// A write is acknowledged once the store within has committed it. What it was about is then
// dirty, and is written as it is by then, under another name, synced, and renamed. Tables of
// records have the last texts of each file, and for each owner the version up to which all files
// were written. After a crash the next start asks the store what changed since
// ([Store.changedSince]), and writes that.
//
// # From files to the store
//
// [Store.Scan] compares the folder with the hashes of what Loci last wrote and returns what
// people did as values of [Edit]. An edit counts key by key: the file is compared with the text that
// was written ([loader.merge]), so that what a person left as it was does not undo what Loci
// changed meanwhile. The caller makes changes of edits, and answers with [Store.Accept] or
// [Store.Refuse].
//
// A store within that is empty, or older than the index says, gets what it lacks from the files
// ([Store.rebuild]); its history begins anew. Vectors are computed again.
//
// Erasing takes words out of the store within, then out of the files; a crash in between is made
// good at the next start.
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
// Names are escaped so that no two meet on a disk that folds case, none leaves its
// folder, and none is too long. A relation is a link in the file of the fact that it
// begins at, which only a rebuild reads. Whom a fact is shared with is in its file, too; the links that others have
// by that have no files, and a rebuild makes them anew.
//
// # Files
//
// A file is front matter between two lines of "---", then a memory's words byte for
// byte and one line end. Keys that are not Loci's and lines of comments survive when Loci
// writes a file again, below its own. The status in a file counts, but of one that was
// moved between entries and deleted the folder does. A text that Loci wrote over earlier, byte
// for byte, was put back, and counts as it is.
package vault
