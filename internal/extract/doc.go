// Package extract finds facts in English text with rules instead of a model. It reads statements about the
// user and people close to the user, and requests to remember, to forget and to keep something off the
// record. A [Candidate] is a fact that a rule or a model proposes.
//
// Its input is the result of learn.Guard. Package learn checks the candidates against their source, compares
// them with stored facts and plans the changes. All functions are pure.
package extract
