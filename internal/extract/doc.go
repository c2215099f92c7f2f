// Package extract reads facts from English without a model: its rules find what people say
// of themselves and of those close to them, and it reads what they ask to be remembered or
// forgotten, and what they ask to keep off the record. A [Candidate] is what a rule or a
// model proposes to remember.
//
// It reads what package learn guarded, and decides nothing: learn grounds candidates,
// compares them with what is known and plans the changes. It is pure.
package extract
