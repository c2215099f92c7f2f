// Package sqlstore is a [memory.Store] with hand-written SQL, in SQLite or on a PostgreSQL server.
// Statements are in SQLite's dialect; translate.go translates them. sqlite.go, writer.go, vacuum.go
// and memorycache.go are for SQLite alone, postgres.go, server.go, retry.go and notifier.go for
// PostgreSQL. asks.go batches statements into one round trip, tables.go lists columns and fields.
// The package does not search: a resident index follows it by Since.
//
// # Writes
//
// With SQLite one goroutine writes. Calls that wait during a commit share the next transaction,
// each under its own savepoint, and return after its commit; a single call is committed at once.
// Readers have their own connections and never wait for the writer.
//
// On a server concurrent calls for one owner share a transaction. BEGIN locks the owner's row in
// the table owners and reads the server's clock; the statements and COMMIT follow. So writes of one
// owner are serial, in any number of stores, and no transaction locks two owners. Conflicts and
// lost connections are retried. Each transaction stores its id in the table commits, which shows
// whether an unanswered COMMIT succeeded. One statement claims a job and skips locked jobs.
// Statements that return no rows are sent with the next query or with COMMIT.
//
// # Cache
//
// A server's memories are not cached, since others write too. With SQLite nobody else writes to the
// locked file: memories are cached as read (memoryCache), and the writer reports each commit's
// changes to the cache before its callers return. The cache is bounded, and cleared by a failed
// commit.
//
// # The past
//
// Every image is stored once: the current image in its table, each earlier image in the journal,
// with the change that replaced it. So the image after a change is the image before the target's
// next change, or the current image if there is none. The state at a time is the current one,
// except for targets that changed later: for them it is the image before the first later change.
//
// # Erasure
//
// Erased rows, and their images in the journal, lose their text in one transaction. SQLite
// overwrites the text (secure_delete), except in the log and where a row moved between pages
// earlier. So Loci rewrites the file (VACUUM) and empties its log as soon as there are no writes
// for a moment. Until then a flag in the file (user_version) requires this, if need be at the next
// start. A server's operator is responsible for the server's files.
//
// # Tables
//
// The owner is the first column of every table, primary key and index, with two exceptions: the
// index by which workers, who serve all owners, find the next job, and the index that finds traces
// by the facts that they show. Times are microseconds since the year 1 in UTC, so 0 is the zero
// time; in a shell, datetime(created_at/1000000 - 62135596800, 'unixepoch') shows a time. Lists are
// JSON arrays, "" for an empty list. Package memory defines everything else. PostgreSQL has the
// same tables; there, pinned, core_never, no_learn and history are of type boolean, and texts are
// compared by their bytes.
//
//	owners               owner | version, clock (of the last write), horizon (Since from before it is Gone)
//	facts                owner, id | project, agent, conversation, content, category, tags, subject, attribute,
//	                     confidence, status, source, trust, pinned, from_conversation, from_turns, quote_turn,
//	                     quote_start, quote_end, observed_at, observed_seq, valid_from, valid_to, created_at,
//	                     updated_at, expires_at, superseded_by, model, metadata, hash, version, core_never
//	fact_tags            owner, tag, fact
//	fact_turns           owner, turn, fact (the turns that a fact rests on)
//	links                owner, id | home, home_version, status, created_at, fact (its JSON), hash, fact_status,
//	                     fact_created_at, version
//	vectors              owner, memory, model | dims, data (float16 as [vector.Pack] has it, little endian)
//	                     (with pgvector also id, values and metadata: see migrations/pgvector/seed.sql)
//	conversations        owner, id | project, agent, title, contexts, rules, message_count, created_at, updated_at,
//	                     status, version
//	turns                owner, id | conversation, project, agent, place (its index), parent, chain, role, name,
//	                     content, ref, status, created_at, recorded_at, learned_at, no_learn, version, history, given, foreign_ranges
//	summaries            owner, id | project, agent, conversation, content, message_count, model, status,
//	                     created_at, version
//	profile              owner, key | value, tokens, status, updated_at, version
//	relations            owner, from_fact, to_fact, kind | status, created_at, version
//	journal              owner, version, ordinal | run, target, action, base, old_id, new_id, reason, author,
//	                     at, before (an image)
//	runs                 owner, id | kind, author, version, at, changes
//	jobs                 owner, id | kind, conversation, turns, state, attempts, run_at, created_at, error, token,
//	                     lease_until
//	contexts             owner, id | title, content, status, created_at, updated_at, version
//	traces               owner, id | at, data (the trace's JSON)
//	trace_facts          owner, trace, fact (of facts that it was shown out of another's memory)
//	ledger               owner, day, purpose, model | calls, input_tokens, output_tokens, cost
//	tombstones           owner, mark, turn (mark: a keyed hash of who said what in a turn that is out of recall)
//	secrets              owner | secret (the key of those hashes, made when the owner first needs one)
//	api_keys             owner (the namespace's global one), hash | name, role, user, created_at, last_used_at,
//	                     revoked_at (when it expires, 0: never), scope (of the role session: a sign-in at the page)
//	audit                owner (the namespace's global one), id | at, act, by, user, detail, address, request
package sqlstore
