// Package index is the resident index: what recall may see of an owner, held in
// memory so that a search takes well under a millisecond, and kept in step with
// the store by following its Since ([memory.Source]). It finds candidates and the
// raw measures of them; package recall judges their relevance.
//
// # Words
//
// A memory has one posting for each of its terms, with what it counts: an
// occurrence in its words, a tag or its speaker's name 1, in the date of its statement 1/3.
// A turn is scored with its neighbours (k1 0.9, b 0.5): every posting counts fully
// for its own turn, 1/3 for the turns one and two away in the same conversation
// and 0.15 for those three away; the length is blended alike. No neighbour's text
// is stored twice, and a turn that comes or goes changes nothing but its
// neighbours' lengths. The frequency of a term is that of blended turns. Scores
// are divided by the sum of the question's idf: 1 would be every word, many times.
//
// Counts are kept in whole numbers (a sixtieth of a third of an occurrence), so
// that an index grown step by step and one built at once give the same scores.
//
// A search first finds each term's frequency, as bits set for seven turns at a
// time, and then adds up the terms' scores, the rarest first. Once so many
// documents have more than the terms that are left could give, the rest are passed
// over: what is found, and every number of it, is the same. The numbers of a
// turn's own words, and of its conversation, are made for what was found alone.
//
// A word without any match, nor a related one, counts as misspelt: similar words of the
// owners searched replace it.
//
// A single character of a script without spaces stands for all pairs with it if it is alone
// in the question or no memory has it as a word.
//
// # Vectors
//
// Vectors are kept as float16 and, made of that, as int8 with a scale. All of an
// owner's are scanned as int8, but for the values that the question has none of;
// those that may be among the best, for all that rounding can do, are scored again
// exactly. A search that is alone scans with all processors.
//
// All are of one model, and used only once nearly all of the owner's memories have
// one ([Options].Lacking): after a change of model words alone find until then, so
// that what has a vector already is not preferred to what has none.
//
// # Filters
//
// Filters apply while candidates are picked: however few pass, the best of those are
// found. By vector alone half as many are found as requested.
//
// # Following
//
// Every search asks the store for the versions of its owners in one query and
// pulls what is missing, one pull at a time for an owner. An owner is loaded when
// first searched, which tells the version too, and dropped, least recently used
// first, when the budget is exceeded. The index holds nothing that the store cannot
// give again. Entries of words are cached for all owners together.
//
// # Checkpoints
//
// A large owner's shard is written to a file, concurrently with searches and when the
// index is closed, so that the next start reads that and later changes. A checkpoint that
// is incomplete, of another owner, model, language or release, or of another history than
// the store's is removed, and the store is read.
package index
