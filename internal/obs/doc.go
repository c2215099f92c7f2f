// Package obs is how Loci is seen from outside: its log, without secrets, and its
// metrics. It measures nothing by itself and knows no other package but memory.
//
// # Metrics
//
//	memory_total_count{kind}               active memories, all users together
//	memory_replacement_rate                of what was stored, the share that replaced something
//	memory_dedup_rate                      of what was extracted, the share that was known already
//	retrieval_hit_rate                     of what was put into prompts, the share that answers used
//	loci_http_request_seconds{method,route,status}  requests, by the pattern of their path
//	loci_refused_total{reason}             requests refused by a limit, for their key, or by the upstream for their memory
//	loci_upstream_seconds{end}             the upstream, to its headers: a status, failed, canceled
//	loci_first_byte_overhead_seconds       first byte to the client less the upstream's
//	loci_chat_tokens_total{side}           tokens of chats
//	loci_recall_seconds                    how long recall took
//	loci_recall_stage_seconds{stage}       its stages: place, embed, search, read, rerank, core, render
//	loci_recall_degraded_total{part}       parts of recall that were skipped
//	loci_recall_model_questions_total{model,helped}  questions that the embedder or reranker was to help answer
//	loci_core_tokens                       tokens of the core of a prompt's block
//	loci_record_failed_total               exchanges that could not be stored
//	loci_decisions_total{action}           what became of extracted facts
//	loci_learn_runs_total{end}             runs of learning, by how they ended
//	loci_learn_tokens_total{purpose,model,side}, loci_learn_cost_total{purpose,model}  the learning model
//	loci_jobs_ended_total{kind,end}        attempts at jobs: done, later, retry, parked, lost
//	loci_jobs{state}                       jobs that are queued or parked
//	loci_oldest_job_seconds                how long the oldest job that is due has waited
//	loci_write_wait_seconds                how long a write waited for its turn in the store
//	loci_store_connections{pool,of}        connections to the database: busy, size
//	loci_problem{part}                     1 while a part is in trouble: store, disk, upstream
//	loci_build_info{version,goversion}     1
//
// and what the Go runtime and the process say of themselves. A rate is 0 until
// there is something to take a share of. The four names without loci_ are those of the
// specification that Loci implements.
package obs
