// Package sqlstore stores memory in an SQLite file or on a PostgreSQL server. Its SQL is in SQLite's
// dialect, and translate.go translates it to PostgreSQL's. sqlite.go, writer.go, vacuum.go and
// memorycache.go are for SQLite alone, postgres.go, server.go, retry.go and notifier.go for PostgreSQL.
// batch.go batches statements into one round trip, tables.go lists columns and fields. The package
// searches no text: package index does so in memory, and reads the changes with [Store.Since].
//
// # Reads
//
// Get (list.go) and ReadBatch send all statements in one round trip, on PostgreSQL as a pgx batch:
// reader.readBatch (batch.go) → reader.withConnection (reader.go) → session.runBatch (batch.go). Other reads,
// such as Turns, send single queries: view.query (reader.go) → session.query (session.go).
//
// # Writes
//
// With SQLite one goroutine writes. Calls that arrive during a commit share the next transaction,
// each under its own savepoint, and return after that transaction's commit; without other calls, a call
// is committed at once. Readers have their own connections and never wait for the writer.
//
// On a PostgreSQL server, concurrent calls for one owner share a transaction. BEGIN locks the
// owner's row in the table owners and reads the server's clock; the statements and COMMIT follow.
// The writes of one owner are therefore serial across all stores, and no transaction locks two
// owners. Conflicts and lost connections are retried. Each transaction stores its id in the table
// commits, which shows whether an unanswered COMMIT succeeded. A job is claimed by one statement, which
// skips jobs locked by other stores. Statements without result rows are sent with the next query or COMMIT.
//
// # Cache
//
// With PostgreSQL memories are not cached, since other processes also write. With SQLite only this
// process writes to the locked file: memoryCache caches memories when they are read, and the writer
// reports each commit's changes to the cache before the callers return. The cache is bounded, and a
// failed commit clears it.
//
// # The past
//
// Every state of a target (a fact, turn, …) is stored once: the current state in its table, each earlier
// state in the journal, with the change that replaced it. The state after a change is therefore the
// state before the target's next change, or else the current state. The state at a time is the state
// before the target's first later change, or else the current state.
//
// # Erasure
//
// Erased rows, and their states in the journal, lose their text in one transaction. SQLite
// overwrites the text (secure_delete), except in its write-ahead log and in pages from which the row
// moved earlier. Loci therefore rewrites the file (VACUUM) and empties the log once there are no
// writes for a second. Until then a flag in the file (user_version) makes the next start rewrite it. The
// files of a PostgreSQL server are its operator's responsibility.
//
// # Tables
//
// The owner is the first column of every table, primary key and index, with two exceptions: the
// index by which workers, who serve all owners, find the next job, and the index that finds traces
// by the facts that they show. Times are microseconds since the year 1 in UTC, so 0 is the zero
// time; in SQL, datetime(created_at/1000000 - 62135596800, 'unixepoch') converts it. Lists are JSON
// arrays, "" for an empty list. The types of package memory define all other columns. PostgreSQL has
// the same tables, with type boolean for pinned, core_never, no_learn and history, and compares texts
// by their bytes.
//
//	owners               owner | version, clock (of the last write), horizon (oldest version for which Since works)
//	facts                owner, id | project, agent, conversation, content, category, tags, subject, attribute,
//	                     confidence, status, source, trust, pinned, from_conversation, from_turns, quote_turn,
//	                     quote_start, quote_end, observed_at, observed_seq, valid_from, valid_to, created_at,
//	                     updated_at, expires_at, superseded_by, model, metadata, hash, version, core_never
//	fact_tags            owner, tag, fact
//	fact_turns           owner, turn, fact (the turns that a fact was learned from)
//	links                owner, id | home, home_version, status, created_at, fact (its JSON), hash, fact_status,
//	                     fact_created_at, version
//	vectors              owner, memory, model | dims, data (float16, little endian: see [vector.Pack])
//	                     (with pgvector also id, values and metadata: see migrations/pgvector/seed.sql)
//	conversations        owner, id | project, agent, title, contexts, rules, message_count, created_at, updated_at,
//	                     status, version
//	turns                owner, id | conversation, project, agent, place (its index), parent, chain, role, name,
//	                     content, ref, status, created_at, recorded_at, learned_at, no_learn, version, history,
//	                     given (Turn.Injected), foreign_ranges (Turn.Foreign)
//	summaries            owner, id | project, agent, conversation, content, message_count, model, status,
//	                     created_at, version
//	profile              owner, key | value, tokens, status, updated_at, version
//	relations            owner, from_fact, to_fact, kind | status, created_at, version
//	journal              owner, version, ordinal | run, target, action, base, old_id, new_id, reason, author,
//	                     at, before (a state)
//	runs                 owner, id | kind, author, version, at, changes
//	jobs                 owner, id | kind, conversation, turns, state, attempts, run_at, created_at, error, token,
//	                     lease_until
//	contexts             owner, id | title, content, status, created_at, updated_at, version
//	traces               owner, id | at, data (the trace's JSON)
//	trace_facts          owner, trace, fact (facts of other owners that the trace shows)
//	ledger               owner, day, purpose, model | calls, input_tokens, output_tokens, cost
//	tombstones           owner, mark, turn (mark: a keyed hash of the role and text of a turn excluded from recall)
//	secrets              owner | secret (the key of the hashes in tombstones, created at first use)
//	api_keys             owner (the global owner), hash | name, role, user, created_at, last_used_at,
//	                     revoked_at (time of expiry; 0 means never), scope (rows of role session are web sign-ins)
//	audit                owner (the global owner), id | at, act, by, user, detail, address, request
package sqlstore
