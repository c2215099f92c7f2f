// Package text has the language functions that recall and learning share: words and stems, sentences, dates,
// numbers, names, hashes and token counts.
//
// All functions are pure and tuned for English. Text in other languages is folded and split into words, or, in
// scripts without spaces, into pairs of characters. The word lists are in the directory tables, one entry per line.
package text
