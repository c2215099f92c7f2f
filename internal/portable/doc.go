// Package portable exports and imports memory as files: it reads and writes JSON lines and
// Markdown, and reads other programs' exports. docs/portable.md specifies the formats well enough
// to write another reader.
//
//	record → Writer → JSON lines, a page, a zip of pages
//	JSON lines, pages, lists, others' exports → Reader → record
//
// Files are streamed: neither direction holds more than one record and one line. The package has no
// store and no clock; the engine selects and orders records, and stores them.
package portable
