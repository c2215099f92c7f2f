// Package vault is the vault: a [memory.Store] around another store, whose truth
// is a folder of Markdown files that people read, edit and keep in git. The store
// within is its index: it answers every read, judges every write, and can be thrown
// away.
//
// # How it writes
//
// A write is committed in the store within, which finds conflicts and duplicates and
// gives version and time; then one line of what happened is synced to the journal,
// many callers' lines by one sync; only then the caller is told. Lines of an owner
// are in the order of their versions. The files follow in the background: what a
// line was about is written as it now stands, beside its place, synced, and renamed.
//
// A crash between commit and line leaves the store within ahead by what nobody was
// told of: at the next start the journal is brought up from it. A store within that
// was deleted, or is older, has the journal replayed into it under the times of then,
// so that versions, times, ids and journal come out the same. Vectors are not in the
// journal: whoever opens the vault embeds what has none. Nor are traces and what
// models cost, and a job that a replay brings back begins anew. That a database is
// older shows in its version, or in turns that the journal knows as learned from.
//
// Erasing takes words out of the store within, then out of every line of the journal,
// then out of the files; a crash in between is made good at the next start. The lines
// stay, with ids, times and a mark where words were, so that a replay counts as before.
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
//	.loci/journal.jsonl                             what happened: a line for each commit
//	.loci/memory_index.json, .loci/memory_index.log what Loci last wrote to each file
//	.loci/lock                                      held while a process has the vault open
//	.loci/buried.jsonl, .loci/key                   keyed hashes of what was said and is to stay forgotten
//	.loci/erasing                                   there while words are being erased, and after a crash meanwhile
//
// Names are escaped so that no two meet on a disk that folds case, none leaves its
// folder, and none is too long. A relation is a link in the file of the fact that it
// begins at. Whom a fact is shared with stands in its file, too; the links that others have
// by that are in the journal, and are made anew where there is none.
//
// # Files
//
// A file is front matter between two lines of "---", then a memory's words byte for
// byte and one line end. Keys that are not Loci's, comments and the order of keys
// survive when Loci writes a file anew. What a person changed counts, key by key: what says
// what Loci last wrote there does not, if Loci changed the memory meanwhile. The status in a file
// counts, but of one that was moved between entries and deleted the folder does. A text that Loci
// wrote over earlier, byte for byte, was put back, and counts as it stands.
package vault
