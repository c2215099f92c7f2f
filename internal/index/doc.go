// Package index is the in-memory index. It holds an owner's recallable memories, so that a search
// takes well under a millisecond, and reads later changes from the store with Since
// ([memory.IndexSource]). It finds candidates and their raw measures; package recall judges their
// relevance.
//
// # Words
//
// A memory has one posting for each of its terms. An occurrence in the text, a tag or the speaker's
// name counts 1, a word of the statement's date counts 1/3. A turn is scored together with its
// neighbours (BM25 with k1 0.9, b 0.5): a posting counts fully for its own turn, 1/3 for turns one
// and two away in the same conversation, and 0.15 for turns three away. Lengths are blended in the
// same way. No neighbour's text is stored twice, so adding or removing a turn changes only its
// neighbours' lengths. A term's document frequency counts turns with a blended count above 0.
// Scores are divided by the sum of the idf of the question's terms.
//
// Counts are integers in units of 1/180 occurrence, so that an index built incrementally and one
// built at once give the same scores.
//
// A search first finds each term's document frequency with a bit set, seven turns per posting. It
// adds up the terms' scores, the rarest term first. Once enough documents score higher than the
// remaining terms could add, it skips all other documents; this does not change the result. Scores
// of a turn's own words and of its conversation are computed only for the documents found.
//
// A word without any match and without a matching related word counts as misspelt. Similar words
// from the searched owners' memories replace it.
//
// A single character of a script without spaces matches all pairs that contain it, if it is the
// whole question or no memory contains it as a word.
//
// # Vectors
//
// Vectors are stored as float16 and, derived from that, as int8 with a scale. A search scans all
// int8 vectors of an owner, except in dimensions where the question is 0. Vectors that may be among
// the best despite rounding errors are rescored exactly. A search that runs alone uses all
// processors.
//
// All vectors come from one model. They are used only if at least 99 % of the owner's memories have
// one ([Options].OnMissingVectors). Otherwise, as after a change of model, only words are searched:
// memories with a vector would rank above memories without.
//
// # Filters
//
// Filters apply while candidates are picked, so the best matching candidates are found even if few
// match. The vector search picks half of the requested number of candidates.
//
// # Following
//
// Every search requests the versions of its owners from the store in one query, and loads missing
// changes, one load at a time per owner. An owner is loaded completely at its first search. When
// the budget is exceeded, the least recently used owners are dropped. The index holds only data
// that the store can provide again. The properties of words are cached for all owners together.
//
// # Checkpoints
//
// A large owner's shard is written to a file, concurrently with searches and when the index is
// closed. The next start reads that file and later changes. A checkpoint is removed, and the store
// is read instead, if it is incomplete, or belongs to another owner, model, language or release, or
// to another history of the store.
package index
