// Package text is what recall and learning both need to know of language: words
// and their stems, sentences, dates, numbers, names, hashes and token counts.
//
// Everything here is a pure function of its arguments and tuned for English;
// other languages are folded and cut into words (those written without spaces
// into pairs of characters), so that they are found by the words they share.
// It knows nothing of memories, questions or scores. The word lists are the files
// under tables, a line an entry.
package text
