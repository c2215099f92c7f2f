// Package vault is a [memory.Store] around another store. It also keeps the memories as a folder of
// Markdown files, which people read, edit and keep in git. The wrapped store answers every read,
// checks every write and keeps the history. The files show the present.
//
// # From the store to files
//
// A write is acknowledged once the wrapped store has committed it. Its things are then dirty:
// later, their current content is written under a temporary name, synced, and renamed. A database
// of records has the last texts of each file, and for each owner the version up to which all files
// were written. After a crash the next start asks the store for later changes
// ([Store.changedSince]) and writes their files.
//
// # From files to the store
//
// [Store.Scan] compares the folder with the hashes of what Loci last wrote and returns people's
// edits as values of [Edit]. Each key counts separately: the file is compared with the text last
// written ([loader.merge]), so that keys which a person left unchanged do not undo Loci's changes.
// The caller turns edits into changes, and answers with [Store.Accept] or [Store.Refuse].
//
// If the wrapped store is empty, or older than the records, it is completed from the files
// ([Store.rebuild]); its history starts over. Vectors are computed again.
//
// An erasure removes text from the wrapped store, then from the files. After a crash the next start
// completes it.
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
// Names are escaped so that no two collide on a disk that ignores case, none leaves its folder, and
// none is too long. A relation is a link in the file of the fact where it starts; only a rebuild
// reads it. A fact's file also lists the users who share the fact; the links of these users have no
// files, and a rebuild creates the links again.
//
// # Files
//
// A file is front matter between two lines of "---", then a memory's text byte for byte and one
// line end. When Loci rewrites a file, other keys and comments stay, below Loci's keys. The status
// key of a file counts, except in a file moved between entries and deleted: there the folder
// counts. A file that equals an earlier version by Loci, byte for byte, was restored by a person,
// and its whole content counts.
package vault
