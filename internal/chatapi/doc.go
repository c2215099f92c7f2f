// Package chatapi reads and edits other people's formats: requests, answers and event
// streams of chats, in each [Dialect]. It is pure: bytes in, bytes out.
//
// Bodies are never decoded and encoded again. A request is checked and its parts
// are found by offset; what Loci takes out (its own fields) and puts in (the
// memory block) is spliced at these offsets, so that every other byte reaches the
// upstream as the client wrote it: key order, white space, escapes, huge numbers
// and everything this package has never heard of. Answers are read beside their
// bytes, which go back untouched but for fields added at the end.
//
// Package wire knows nothing of HTTP, of where memory comes from or of which
// conversation a request continues (package thread); it only says what a message
// means, as a digest that stays the same however it is written.
package chatapi
