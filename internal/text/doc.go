// Package text has the language functions that recall and learning share: words and their stems,
// sentences, dates, numbers, names, hashes and token counts.
//
// Everything here is a pure function of its arguments and tuned for English. Text of other
// languages is folded and split into words (scripts without spaces into pairs of characters), so
// that shared words match. The word lists are the files under tables, one entry a line.
package text
