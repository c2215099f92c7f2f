// Package learn is the write path: what was said becomes facts that deserve
// trust. Every step is a pure function from one type to the next; the engine
// calls the model between an Ask and a Parse, and the store after Plan.
//
//	[]memory.Turn ─Guard→ []Utterance ─AskFacts→ model ─ParseFacts→ ─Settle→ []Candidate
//	                             ─extract.Rules────────────→ []Candidate
//	[]Candidate ─Filter→ those that hold ─(search fills Near)→ ─Dedupe→ new ones
//	            ─Reconcile────────────────────────→ []Decision, the model's or by rule
//	            ─AskDecisions→ model ─ParseDecisions→ []Decision, of prompts in two steps
//	[]Decision ─Plan→ []memory.Change ─Facts.Apply→ store
//
// Forget and Undo make changes as well. Whatever a model replies, Plan
// returns changes that a store accepts, or none.
//
// Nothing that a model says is believed: Guard leaves of a message only what its
// user wrote themselves, Filter holds each candidate against the statements of its
// turn and lets wait what they do not say, Dedupe drops what only hands memory back.
//
// It knows no clock, no store and no model, and it does not decide when to learn.
package learn
