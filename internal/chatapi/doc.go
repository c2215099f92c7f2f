// Package chatapi reads and edits requests, answers and event streams of chat APIs, in each
// [Dialect]. It is pure: bytes in, bytes out.
//
// Bodies are never decoded and encoded again. A request is checked, and its parts are found by offset. Loci's
// own fields are cut out and the memory block is inserted at such offsets. Every other byte reaches the
// upstream unchanged: key order, white space, escapes, huge numbers and unknown fields. Answers are unchanged
// except for fields added at the end.
//
// The package does not depend on HTTP, on the source of memory, or on the conversation that a request continues
// (package thread). It identifies a message by a digest that does not depend on the encoding.
package chatapi
