// Package vault is a [memory.Store] that wraps another store and also writes the memories as
// Markdown files, which people read, edit and version with git. The wrapped store answers every
// read, checks every write and contains the history. The files contain only the current state.
//
// # From the store to files
//
// A write is acknowledged once the wrapped store has committed it. The write marks its targets (each
// a memory's kind and id, such as fact:ID) as dirty. Later, the current content of dirty targets is
// written under temporary names, synced, and renamed. A database of records contains the last texts
// of each file, and for each owner the version up to which all files were written. After a crash, the
// next start writes the files of the memories that changed after this version ([Store.changedSince]).
//
// # From files to the store
//
// [Store.Scan] compares the files with the hashes of Loci's last writes and returns people's edits
// as values of [Edit]. Each key of front matter is compared separately with the last written text
// ([loader.merge]), so that an old value which the person did not touch does not undo Loci's change.
// The caller turns edits into changes, and answers with [Store.Accept] or [Store.Refuse].
//
// If the wrapped store is empty or older than the records, missing memories are rebuilt from the
// files ([Store.rebuild]). Their history starts over, and their vectors are computed again.
//
// An erasure removes text from the wrapped store, then from the files. After a crash, the next
// start completes the erasure.
//
// # Folder
//
//	entries/CONVERSATION/turns/ROLE/TIME__ID.md
//	entries/CONVERSATION/facts/TIME__ID.md          facts of that conversation alone
//	entries/CONVERSATION/summaries/summary.md       current summary; earlier summaries are TIME__ID.md
//	entries/CONVERSATION/conversation.md            title, rules, contexts
//	entries/global/facts/TIME__ID.md                facts of no conversation
//	entries/global/profile/KEY.md                   profile entries
//	entries/global/contexts/ID.md                   documents that are attached to conversations
//	deleted/entries/…                               replaced, forgotten and rejected memories
//	users/NAME/… pools/NAME/… everyone/…            memories of owners other than [Options].HomeOwner
//	namespaces/NAME/users/NAME/…                    memories of other namespaces
//	….conflict-TIME.md                              conflict file: a person's text that was not applied
//	.loci/files.db                                  the records of Loci's last write of each file
//	.loci/lock                                      locked while a process has the vault open
//	.loci/erasing                                   exists until a started erasure is complete
//
// Names are escaped: they are unique even on a disk that ignores case, do not leave their folder, and do
// not get too long. A relation is a link in the file of its first fact; only a rebuild reads the relations
// in files. A fact's file also lists the recipients with whom the fact is shared. The links by which
// recipients get a fact have no files; a rebuild creates these links again.
//
// # Files
//
// A file is front matter between two lines of "---", then a memory's text byte for byte and one
// line end. When Loci rewrites a file, a person's keys and comments stay. The key status determines
// the memory's status, except in a file that was moved into deleted/ or out of it, where the folder
// determines it. A file that equals an earlier version by Loci, byte for byte, was restored by a person, so
// its whole content is applied.
package vault
