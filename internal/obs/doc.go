// Package obs is how Loci is seen from outside: its log, without secrets, and its
// metrics. It measures nothing by itself and knows no other package but memory.
//
// # Metrics
//
//	memory_total_count{kind}               active memories, all users together
//	memory_replacement_rate                of what was stored, the share that replaced something
//	memory_dedup_rate                      of what was extracted, the share that was known already
//	retrieval_hit_rate                     of what was put into prompts, the share that answers used
//	memory_decisions_total{action}         what became of extracted facts
//	memory_record_failed_total             exchanges that could not be stored
//	recall_seconds                         how long recall took
//	recall_degraded_total{part}            parts of recall that were skipped
//	recall_model_questions_total{model,helped}  questions that the embedder or reranker was to help answer
//	proxy_first_byte_overhead_seconds      first byte to the client less the upstream's
//	learn_runs_total{end}                  runs of learning, by how they ended
//	jobs_ended_total{kind,end}             attempts at jobs: done, retry, parked, lost
//
// and what the Go runtime and the process say of themselves. A rate is 0 until
// there is something to take a share of.
package obs
