// Package obs provides Loci's log, without secrets, and its metrics. It measures nothing itself and imports
// only package memory.
//
// # Metrics
//
// docs/guide/metrics.md lists them, which a test checks. All names begin with loci_, except those of the
// specification that Loci implements (memory_total_count, memory_replacement_rate, memory_dedup_rate and
// retrieval_hit_rate) and those of the Go runtime and the process. A rate is 0 while there is no data.
package obs
