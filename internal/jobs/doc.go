// Package jobs runs the work that a store's queue holds: it claims a job, keeps
// its lease while a handler works, and says how the attempt ended. It knows
// neither what jobs are about nor where they are kept, and starts nothing that is
// not in the queue.
//
//	Append(turns, job) ─Wake→ Claim ─lease→ Handler ─┬ Applied: the handler's own Apply completed it
//	                              ↑    extended      ├ Nothing: Finish as done
//	                              └── meanwhile      └ error:   Finish, to be tried again later
//
// A job runs at least once; that twice equals once is up to the handler, whose
// Apply carries the job's lease and so cannot commit after another worker took
// over.
package jobs
