-- 'Loci' in ASCII: how a database of ours is told from any other.
PRAGMA application_id = 1282368361;

CREATE TABLE owners (
    owner   TEXT    NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    clock   INTEGER NOT NULL,
    horizon INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE facts (
    owner             TEXT    NOT NULL,
    id                TEXT    NOT NULL,
    project           TEXT    NOT NULL,
    agent             TEXT    NOT NULL,
    conversation      TEXT    NOT NULL,
    content           TEXT    NOT NULL,
    category          TEXT    NOT NULL,
    tags              TEXT    NOT NULL,
    subject           TEXT    NOT NULL,
    attribute         TEXT    NOT NULL,
    confidence        REAL    NOT NULL,
    status            TEXT    NOT NULL,
    source            TEXT    NOT NULL,
    trust             TEXT    NOT NULL,
    pinned            INTEGER NOT NULL,
    from_conversation TEXT    NOT NULL,
    from_turns        TEXT    NOT NULL,
    quote_turn        TEXT,
    quote_start       INTEGER,
    quote_end         INTEGER,
    observed_at       INTEGER NOT NULL,
    observed_seq      INTEGER NOT NULL,
    valid_from        INTEGER NOT NULL,
    valid_to          INTEGER NOT NULL,
    created_at        INTEGER NOT NULL,
    updated_at        INTEGER NOT NULL,
    expires_at        INTEGER NOT NULL,
    superseded_by     TEXT    NOT NULL,
    model             TEXT    NOT NULL,
    metadata          TEXT    NOT NULL,
    hash              TEXT    NOT NULL,
    version           INTEGER NOT NULL,
    core_never        INTEGER NOT NULL DEFAULT 0, -- it is found by search alone, never put into a prompt by itself
    PRIMARY KEY (owner, id)
) STRICT;

CREATE INDEX facts_version ON facts (owner, version, id);
CREATE INDEX facts_created ON facts (owner, status, created_at, id);
CREATE INDEX facts_subject ON facts (owner, subject, attribute) WHERE subject <> '';
CREATE UNIQUE INDEX facts_live ON facts (owner, hash, project, agent, conversation)
    WHERE status IN ('active', 'pending');

CREATE TABLE fact_tags (
    owner TEXT NOT NULL,
    tag   TEXT NOT NULL,
    fact  TEXT NOT NULL,
    PRIMARY KEY (owner, tag, fact)
) STRICT, WITHOUT ROWID;

CREATE TABLE fact_turns (
    owner TEXT NOT NULL,
    turn  TEXT NOT NULL,
    fact  TEXT NOT NULL,
    PRIMARY KEY (owner, turn, fact)
) STRICT, WITHOUT ROWID;

CREATE TABLE links (
    owner           TEXT    NOT NULL,
    id              TEXT    NOT NULL,
    home            TEXT    NOT NULL,
    home_version    INTEGER NOT NULL,
    status          TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    fact            TEXT    NOT NULL,
    hash            TEXT    NOT NULL,
    fact_status     TEXT    NOT NULL,
    fact_created_at INTEGER NOT NULL,
    version         INTEGER NOT NULL,
    PRIMARY KEY (owner, id)
) STRICT;

CREATE INDEX links_version ON links (owner, version, id);
CREATE INDEX links_created ON links (owner, fact_created_at);
CREATE INDEX links_home ON links (owner, home, id);

CREATE TABLE vectors (
    owner  TEXT    NOT NULL,
    memory TEXT    NOT NULL,
    model  TEXT    NOT NULL,
    dims   INTEGER NOT NULL,
    data   BLOB    NOT NULL,
    PRIMARY KEY (owner, memory, model)
) STRICT;

CREATE TABLE conversations (
    owner         TEXT    NOT NULL,
    id            TEXT    NOT NULL,
    project       TEXT    NOT NULL,
    agent         TEXT    NOT NULL,
    title         TEXT    NOT NULL,
    contexts      TEXT    NOT NULL,
    rules         TEXT    NOT NULL,
    message_count INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    status        TEXT    NOT NULL DEFAULT 'active',
    version       INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (owner, id)
) STRICT;

CREATE INDEX conversations_updated ON conversations (owner, updated_at);

CREATE TABLE turns (
    owner        TEXT    NOT NULL,
    id           TEXT    NOT NULL,
    conversation TEXT    NOT NULL,
    project      TEXT    NOT NULL,
    agent        TEXT    NOT NULL,
    place        INTEGER NOT NULL,
    parent       TEXT    NOT NULL,
    chain        TEXT    NOT NULL,
    role         TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    content      TEXT    NOT NULL,
    ref          TEXT    NOT NULL,
    status       TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    recorded_at  INTEGER NOT NULL,
    learned_at   INTEGER NOT NULL,
    no_learn     INTEGER NOT NULL,
    version      INTEGER NOT NULL,
    history      INTEGER NOT NULL DEFAULT 0,
    given        TEXT    NOT NULL DEFAULT '',
    foreign_ranges TEXT  NOT NULL DEFAULT '', -- what of a turn somebody else wrote than the one in whose name it came
    PRIMARY KEY (owner, id)
) STRICT;

CREATE INDEX turns_place ON turns (owner, conversation, place);
CREATE INDEX turns_version ON turns (owner, version, id);
CREATE INDEX turns_created ON turns (owner, status, created_at, id);
CREATE INDEX turns_chain ON turns (owner, chain) WHERE chain <> '';
CREATE INDEX turns_unlearned ON turns (owner, conversation)
    WHERE role = 'user' AND learned_at = 0 AND no_learn = 0;

CREATE TABLE summaries (
    owner         TEXT    NOT NULL,
    id            TEXT    NOT NULL,
    project       TEXT    NOT NULL,
    agent         TEXT    NOT NULL,
    conversation  TEXT    NOT NULL,
    content       TEXT    NOT NULL,
    message_count INTEGER NOT NULL,
    model         TEXT    NOT NULL,
    status        TEXT    NOT NULL,
    created_at    INTEGER NOT NULL,
    version       INTEGER NOT NULL,
    PRIMARY KEY (owner, id)
) STRICT;

CREATE INDEX summaries_version ON summaries (owner, version, id);
CREATE INDEX summaries_created ON summaries (owner, status, created_at, id);
CREATE INDEX summaries_conversation ON summaries (owner, conversation, created_at);

CREATE TABLE profile (
    owner      TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    value      TEXT    NOT NULL,
    tokens     INTEGER NOT NULL,
    status     TEXT    NOT NULL,
    updated_at INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    PRIMARY KEY (owner, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE relations (
    owner      TEXT    NOT NULL,
    from_fact  TEXT    NOT NULL,
    to_fact    TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    status     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    PRIMARY KEY (owner, from_fact, to_fact, kind)
) STRICT, WITHOUT ROWID;

CREATE INDEX relations_to ON relations (owner, to_fact);

CREATE TABLE journal (
    owner   TEXT    NOT NULL,
    version INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    run     TEXT    NOT NULL,
    target  TEXT    NOT NULL,
    action  TEXT    NOT NULL,
    base    INTEGER NOT NULL,
    old_id  TEXT    NOT NULL,
    new_id  TEXT    NOT NULL,
    reason  TEXT    NOT NULL,
    author  TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    before  TEXT    NOT NULL,
    PRIMARY KEY (owner, version, ordinal)
) STRICT;

CREATE INDEX journal_target ON journal (owner, target, version, ordinal);
CREATE INDEX journal_old ON journal (owner, old_id) WHERE old_id <> '';
CREATE INDEX journal_new ON journal (owner, new_id) WHERE new_id <> '';

CREATE TABLE runs (
    owner   TEXT    NOT NULL,
    id      TEXT    NOT NULL,
    kind    TEXT    NOT NULL,
    author  TEXT    NOT NULL,
    version INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    changes INTEGER NOT NULL,
    PRIMARY KEY (owner, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE jobs (
    owner        TEXT    NOT NULL,
    id           TEXT    NOT NULL,
    kind         TEXT    NOT NULL,
    conversation TEXT    NOT NULL,
    turns        TEXT    NOT NULL,
    state        TEXT    NOT NULL,
    attempts     INTEGER NOT NULL,
    run_at       INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    error        TEXT    NOT NULL,
    token        TEXT    NOT NULL,
    lease_until  INTEGER NOT NULL,
    PRIMARY KEY (owner, id)
) STRICT;

CREATE INDEX jobs_queued ON jobs (owner, kind, run_at, created_at, id) WHERE state = 'queued';
CREATE INDEX jobs_running ON jobs (owner, kind, lease_until) WHERE state = 'running';
CREATE INDEX jobs_parked ON jobs (owner) WHERE state = 'parked';

-- Documents that are attached to conversations.
CREATE TABLE contexts (
    owner      TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    title      TEXT    NOT NULL,
    content    TEXT    NOT NULL,
    status     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    PRIMARY KEY (owner, id)
) STRICT;

CREATE TABLE traces (
    owner TEXT    NOT NULL,
    id    TEXT    NOT NULL,
    at    INTEGER NOT NULL,
    data  TEXT    NOT NULL,
    PRIMARY KEY (owner, id)
) STRICT;

CREATE INDEX traces_at ON traces (owner, at, id);

CREATE TABLE api_keys (
    owner        TEXT    NOT NULL,
    hash         TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    role         TEXT    NOT NULL,
    user         TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    revoked_at   INTEGER NOT NULL,
    scope        TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (owner, hash)
) STRICT, WITHOUT ROWID;

-- Workers serve all owners: the next job is the one that has been due the longest
-- whoever it belongs to.
CREATE INDEX jobs_due ON jobs (run_at, created_at, owner, id, kind) WHERE state = 'queued';

-- Every chat is given the pinned facts, which are few among all.
CREATE INDEX facts_pinned ON facts (owner, status, created_at) WHERE pinned;

-- What models were paid for on an owner's account.
CREATE TABLE ledger (
    owner         TEXT    NOT NULL,
    day           INTEGER NOT NULL,
    purpose       TEXT    NOT NULL,
    model         TEXT    NOT NULL,
    calls         INTEGER NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost          REAL    NOT NULL,
    PRIMARY KEY (owner, day, purpose, model)
) STRICT, WITHOUT ROWID;

-- What is learned is compared with what was forgotten or refused in the same words.
CREATE INDEX facts_past ON facts (owner, hash) WHERE status NOT IN ('active', 'pending');

-- What was said in turns that are out of recall, as keyed hashes: it is known again
-- when a client sends it on another path.
CREATE TABLE tombstones (
    owner TEXT NOT NULL,
    mark  TEXT NOT NULL,
    turn  TEXT NOT NULL,
    PRIMARY KEY (owner, mark, turn)
) STRICT, WITHOUT ROWID;

CREATE INDEX tombstones_turn ON tombstones (owner, turn);

-- The keys of those hashes.
CREATE TABLE secrets (
    owner  TEXT NOT NULL PRIMARY KEY,
    secret TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Which traces have the words of a fact that their owner was shown out of another's memory:
-- they go when it is erased.
CREATE TABLE trace_facts (
    owner TEXT NOT NULL,
    trace TEXT NOT NULL,
    fact  TEXT NOT NULL,
    PRIMARY KEY (owner, trace, fact)
) STRICT, WITHOUT ROWID;

-- Who was shown a fact is not known when it is erased.
CREATE INDEX trace_facts_fact ON trace_facts (fact, owner, trace);

-- A fact that is recalled is told with what it took the place of.
CREATE INDEX facts_superseded ON facts (owner, superseded_by) WHERE superseded_by <> '';

-- Requests refer to answers by the ids of their items.
CREATE INDEX turns_ref ON turns (owner, ref) WHERE ref <> '';

-- Who did what: entries are only added, until they are old.
CREATE TABLE audit (
    owner   TEXT    NOT NULL,
    id      TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    act     TEXT    NOT NULL,
    "by"    TEXT    NOT NULL,
    user    TEXT    NOT NULL,
    detail  TEXT    NOT NULL,
    address TEXT    NOT NULL,
    request TEXT    NOT NULL,
    PRIMARY KEY (owner, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX audit_at ON audit (owner, at, id);
