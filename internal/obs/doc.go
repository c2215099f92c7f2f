// Package obs provides Loci's log, without secrets, and its metrics. It measures nothing itself: callers pass
// the values.
//
// # Metrics
//
// docs/guide/metrics.md lists all metrics; a test checks the list. Names begin with loci_, except names in the
// specification that Loci implements (memory_total_count, memory_replacement_rate, memory_dedup_rate and
// retrieval_hit_rate) and names of the Go runtime and the process. A rate without data is 0.
package obs
