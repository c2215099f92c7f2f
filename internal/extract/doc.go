// Package extract reads facts from English without a model: its rules find statements about the
// user and people close to them, and it reads requests to remember, to forget and to keep off the
// record. A [Candidate] is a fact that a rule or a model proposes.
//
// It reads text that package learn guarded, and decides nothing: learn grounds candidates, compares
// them with stored facts and plans the changes. It is pure.
package extract
