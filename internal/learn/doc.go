// Package learn turns messages into trustworthy facts. Every step is a pure function from one type to
// the next. The engine calls the model between an Ask and a Parse function, and calls the store after Plan.
//
//	[]memory.Turn ─Guard→ []Utterance ─AskFacts→ model ─ParseFacts→ ─ValidateOperations→ []Candidate
//	                             ─extract.FactsByRules────────────→ []Candidate
//	[]Candidate ─Filter→ grounded candidates ─(search fills Neighbours)→ ─Dedupe→ new candidates
//	            ─Reconcile────────────────────────→ []Decision, of the model or of the rules
//	            ─AskDecisions→ model ─ParseDecisions→ []Decision, if a second prompt decides
//	[]Decision ─Plan→ []memory.Change ─Facts.Apply→ store
//
// Forget and Undo also return changes. Plan never returns changes that a store rejects, whatever a model
// replies: Guard removes text that the user did not write, Filter checks each candidate against its turn, and
// Dedupe drops repeated memories.
//
// The package has no clock, no store and no model, and does not decide when to learn.
package learn
