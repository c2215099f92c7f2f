// Package jobs runs the jobs in a store's queue: it claims a job, extends its lease while a handler
// works, and records the outcome. It does not depend on the kinds of jobs or on the store.
//
//	Append(turns, job) ─Wake→ Claim ─lease→ Handler ─┬ Applied: the handler's own Apply completed it
//	                              ↑    extended      ├ Nothing: Finish as done
//	                              └── meanwhile      └ error:   Finish, to be tried again later
//
// A job runs at least once, and handlers must be idempotent. A handler's Apply carries the job's
// lease, so it cannot commit after another worker took over.
package jobs
