// Package portable exports and imports memory as files: it reads and writes JSON lines and
// Markdown, and reads other programs' exports. docs/portable.md specifies the formats in enough
// detail to write another reader.
//
//	record → Writer → JSON lines, a Markdown file, a zip of Markdown files
//	JSON lines, Markdown files, lists, other programs' exports → Reader → record
//
// Files are streamed, so that a process holds only one record and one line at a time. The package has
// no store and no clock; the engine selects, orders and stores the records.
package portable
