-- +goose Up

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
    PRIMARY KEY (owner, id)
) STRICT;

CREATE INDEX facts_version ON facts (owner, version, id);
CREATE INDEX facts_created ON facts (owner, status, created_at);
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
    PRIMARY KEY (owner, id)
) STRICT;

CREATE INDEX turns_place ON turns (owner, conversation, place);
CREATE INDEX turns_version ON turns (owner, version, id);
CREATE INDEX turns_created ON turns (owner, status, created_at);
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
CREATE INDEX summaries_created ON summaries (owner, status, created_at);
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

CREATE TABLE contexts (
    owner      TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    content    TEXT    NOT NULL,
    hash       TEXT    NOT NULL,
    tokens     INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (owner, id)
) STRICT;

CREATE TABLE conversation_events (
    owner        TEXT    NOT NULL,
    conversation TEXT    NOT NULL,
    ordinal      INTEGER NOT NULL,
    kind         TEXT    NOT NULL,
    at           INTEGER NOT NULL,
    data         TEXT    NOT NULL,
    PRIMARY KEY (owner, conversation, ordinal)
) STRICT;

CREATE TABLE traces (
    owner TEXT    NOT NULL,
    id    TEXT    NOT NULL,
    at    INTEGER NOT NULL,
    data  TEXT    NOT NULL,
    PRIMARY KEY (owner, id)
) STRICT;

CREATE INDEX traces_at ON traces (owner, at, id);

CREATE TABLE feedback (
    owner   TEXT    NOT NULL,
    memory  TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    kind    TEXT    NOT NULL,
    trace   TEXT    NOT NULL,
    PRIMARY KEY (owner, memory, at, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE api_keys (
    owner        TEXT    NOT NULL,
    hash         TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    role         TEXT    NOT NULL,
    user         TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    revoked_at   INTEGER NOT NULL,
    PRIMARY KEY (owner, hash)
) STRICT, WITHOUT ROWID;
