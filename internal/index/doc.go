// Package index searches memories in RAM by words and vectors, in well under a millisecond. It holds the
// recallable memories of recently searched owners, and reads later changes from the store
// ([memory.IndexSource]). It returns candidates with raw measures; package recall judges their relevance.
//
// # Words
//
// A memory has one posting for each of its terms. An occurrence in the text, a tag or the speaker's name
// counts 1, a word of the statement's date counts 1/3. A turn is scored together with its neighbours (BM25
// with k1 0.9, b 0.5): its blended count of a term is the count in its own text, plus 1/3 of the counts in
// turns one and two away in the same conversation, plus 0.15 of those three away. Its blended length is
// computed in the same way. Postings hold only counts of a turn's own text, so adding a turn changes only its
// neighbours' lengths. A term's document frequency counts turns with a blended count above 0. Scores are
// divided by the sum of the idf of the question's terms.
//
// Blended counts are integers in units of 1/180 occurrence, so that the order in which memories are
// added does not change scores.
//
// A search determines each term's document frequency with a bit set, in which a posting marks its turn and up
// to six neighbours. It adds up the terms' scores, the rarest term first. Once enough documents score higher
// than the remaining terms could add, it skips all other documents; this does not change the result. Scores
// of a turn's own words and of its conversation are computed only for the picked documents.
//
// A word without any match and without a matching related word counts as misspelt. Similar words
// from the searched owners' memories replace it.
//
// A single character of a script without spaces matches all pairs that contain it, if it is the
// whole question or no memory contains it as a word.
//
// # Vectors
//
// Vectors are stored as float16 and, computed from these, as int8 with a scale. A search scans all int8
// vectors of an owner, except in dimensions where the question's vector is 0. Vectors that may be among the
// best despite rounding errors are rescored exactly. A search uses all processors while no other search runs.
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
// A large owner's memories are written to a checkpoint file, concurrently with searches and when the
// index is closed. The next start reads that file and later changes. If a checkpoint is incomplete,
// or belongs to another owner, model, language, release or history of the store, it is removed and
// the store is read instead.
package index
