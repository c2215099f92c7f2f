// Package extract finds facts in English text with rules instead of a model. It reads statements about the
// user and people close to them, and requests to remember, to forget and to keep something off the record.
// A [Candidate] is a fact that a rule or a model proposes.
//
// Its input is text that package learn has guarded. It makes no decisions: learn checks candidates against
// their source, compares them with stored facts and plans the changes. All functions are pure.
package extract
