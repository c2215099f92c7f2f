// Package obs is how Loci is seen from outside: its log, without secrets, and its
// metrics. It measures nothing by itself and knows no other package but memory.
//
// # Metrics
//
// docs/guide/metrics.md lists them; a test holds it to what there is. All names begin with loci_
// but those of the specification that Loci implements (memory_total_count,
// memory_replacement_rate, memory_dedup_rate and retrieval_hit_rate) and those of the Go runtime
// and the process. A rate is 0 until there is something to take a share of.
package obs
