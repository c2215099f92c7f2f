// Package jobs runs the jobs in a store's queue: it claims a job, extends its lease while a handler
// works, and records the outcome. It does not depend on the kinds of jobs or on the store.
//
//	Append(turns, job) ─Wake→ Claim ─lease→ Handler ─┬ Applied: the handler's Apply completed the job
//	                                Extend renews    ├ Nothing: the runner calls Finish to complete it
//	                                the lease        └ error:   the runner calls Finish with a retry time
//
// A job may run several times, so handlers must be idempotent. A handler passes the job's lease to the
// store's Apply, which fails if another worker has claimed the job.
package jobs
