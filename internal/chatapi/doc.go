// Package chatapi reads and edits requests, answers and event streams of chat APIs, in each
// [Dialect]. Its functions have no side effects: bytes in, bytes out.
//
// Bodies are never decoded and re-encoded. A request is validated, and the offsets of its parts are recorded.
// At these offsets, Loci's own fields are cut out and the memory block is inserted. Every other byte reaches
// the upstream unchanged: key order, white space, escapes, huge numbers and unknown fields. Answers are
// unchanged except for fields added at the end.
//
// The package does not depend on HTTP or on the source of memory. Package thread finds the conversation that
// a request continues. A message is identified by a digest that does not depend on its encoding.
package chatapi
