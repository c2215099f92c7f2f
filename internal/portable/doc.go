// Package portable exports and imports memory as files: it reads and writes JSON lines and
// Markdown, and reads other programs' exports. docs/portable.md specifies the formats in enough
// detail to write another reader.
//
//	record → Writer → JSON lines, a page, a zip of pages
//	JSON lines, pages, lists, others' exports → Reader → record
//
// Files are streamed: both directions hold only one record and one line in memory. The package has
// no store and no clock; the engine selects, orders and stores the records.
package portable
