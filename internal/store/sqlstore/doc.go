// Package sqlstore keeps everything in an SQL database: [memory.Store] with
// hand-written SQL, in SQLite or on a PostgreSQL server. Statements are written as
// SQLite takes them; translate.go says them to PostgreSQL. What is SQLite's alone stands
// in sqlite.go, writer.go, vacuum.go and memorycache.go; what is
// PostgreSQL's in postgres.go, server.go, retry.go and notifier.go; asks.go has statements that a server is
// sent in one go, tables.go the columns and what they are read into. It does not search: a resident index follows it by Since.
//
// # How it writes
//
// With SQLite one goroutine writes. Calls that wait while it commits are taken together
// into the next transaction, each under a savepoint of its own, and all are told after
// the commit; a call that comes alone is committed at once. Readers have
// connections of their own and never wait for it.
//
// On a server each call has a transaction, which it shares with whoever waits for the same
// owner here: BEGIN, which takes the row of its
// owner in the table owners and reads the server's clock, statements, COMMIT. So writes of
// one owner are serial, whichever store makes them, and nobody holds two owners. What fails
// since others were in the way, or since the connection was lost, is done again. Each
// transaction leaves its id in the table commits, which says whether a commit that was not
// answered was done. Jobs are claimed by one statement, which skips what others claim.
// Statements that want no answer are sent with the next question, or with COMMIT.
//
// # What it remembers
//
// On a server, nothing: others write as well. With SQLite nobody else writes to the
// file while it is locked: memories as they were read (memoryCache) are remembered in step with
// the commits. The writer tells what a commit changed before its callers are told. The cache is
// bounded, and knows nothing after a commit that failed: then the database is asked.
//
// # How it reads the past
//
// Every image is kept once: the one that stands in its table, each earlier one in
// the journal, as what the change that ended it found. So the image after a change
// is the one before the target's next change or, without one, what stands. And
// what stood at a time is what stands, but for targets that changed later: there
// it is what the first of those changes found. The present never reads the journal.
//
// # How it erases
//
// The rows of what is erased, and the images in the journal, lose their words in one
// transaction. SQLite overwrites them (secure_delete), but for what it moved between pages
// earlier and for the log. So the file is written again (VACUUM) and its log emptied, once
// nothing is written for a moment. A mark in the file, its user_version, says until then that
// this is to be done, at the next start if need be. On a server its keepers see to that.
//
// # Tables
//
// The owner is the first column of every table, primary key and index, but for
// the one by which workers, who serve all owners, find the next job, and the one by which
// the traces of all who were shown a fact are found. Times are
// microseconds since the year 1 in UTC, so that 0 is the zero time; in a shell,
// datetime(created_at/1000000 - 62135596800, 'unixepoch') shows one. Lists are
// JSON arrays, "" for none. Everything else is as package memory says. PostgreSQL has
// the same tables; pinned, core_never, no_learn and history are of type boolean there, and texts compare by
// their bytes.
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
