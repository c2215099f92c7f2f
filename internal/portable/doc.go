// Package portable is memory as the files that people take away and bring back:
// JSON lines and Markdown, written and read, and what other programs export, read
// alone. docs/portable.md specifies the formats well enough to write another reader.
//
//	record → Writer → JSON lines, a page, a zip of pages
//	JSON lines, pages, lists, others' exports → Reader → record
//
// Files are read and written piece by piece: neither way holds more than a record and
// a line. The package knows no store and no clock. What an export holds and in which
// order, and what becomes of a record that is read, is the engine's to say.
package portable
