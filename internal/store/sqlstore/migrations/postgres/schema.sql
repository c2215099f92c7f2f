-- Texts compare by their bytes, as they do in Go.

CREATE TABLE owners (
    owner   TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    version BIGINT           NOT NULL,
    clock   BIGINT           NOT NULL,
    horizon BIGINT           NOT NULL DEFAULT 0
) WITH (fillfactor = 50); -- every write changes a row, in its page if there is room

CREATE TABLE facts (
    owner             TEXT COLLATE "C" NOT NULL,
    id                TEXT COLLATE "C" NOT NULL,
    project           TEXT COLLATE "C" NOT NULL,
    agent             TEXT COLLATE "C" NOT NULL,
    conversation      TEXT COLLATE "C" NOT NULL,
    content           TEXT COLLATE "C" NOT NULL,
    category          TEXT COLLATE "C" NOT NULL,
    tags              TEXT COLLATE "C" NOT NULL,
    subject           TEXT COLLATE "C" NOT NULL,
    attribute         TEXT COLLATE "C" NOT NULL,
    confidence        DOUBLE PRECISION NOT NULL,
    status            TEXT COLLATE "C" NOT NULL,
    source            TEXT COLLATE "C" NOT NULL,
    trust             TEXT COLLATE "C" NOT NULL,
    pinned            BOOLEAN          NOT NULL,
    from_conversation TEXT COLLATE "C" NOT NULL,
    from_turns        TEXT COLLATE "C" NOT NULL,
    quote_turn        TEXT COLLATE "C",
    quote_start       BIGINT,
    quote_end         BIGINT,
    observed_at       BIGINT           NOT NULL,
    observed_seq      BIGINT           NOT NULL,
    valid_from        BIGINT           NOT NULL,
    valid_to          BIGINT           NOT NULL,
    created_at        BIGINT           NOT NULL,
    updated_at        BIGINT           NOT NULL,
    expires_at        BIGINT           NOT NULL,
    superseded_by     TEXT COLLATE "C" NOT NULL,
    model             TEXT COLLATE "C" NOT NULL,
    metadata          TEXT COLLATE "C" NOT NULL,
    hash              TEXT COLLATE "C" NOT NULL,
    version           BIGINT           NOT NULL,
    core_never        BOOLEAN          NOT NULL DEFAULT false, -- it is found by search alone, never put into a prompt by itself
    PRIMARY KEY (owner, id)
);

CREATE INDEX facts_version ON facts (owner, version, id);
CREATE INDEX facts_created ON facts (owner, status, created_at, id);
CREATE INDEX facts_subject ON facts (owner, subject, attribute) WHERE subject <> '';
CREATE UNIQUE INDEX facts_live ON facts (owner, hash, project, agent, conversation)
    WHERE status IN ('active', 'pending');

CREATE TABLE fact_tags (
    owner TEXT COLLATE "C" NOT NULL,
    tag   TEXT COLLATE "C" NOT NULL,
    fact  TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (owner, tag, fact)
);

CREATE TABLE fact_turns (
    owner TEXT COLLATE "C" NOT NULL,
    turn  TEXT COLLATE "C" NOT NULL,
    fact  TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (owner, turn, fact)
);

CREATE TABLE links (
    owner           TEXT COLLATE "C" NOT NULL,
    id              TEXT COLLATE "C" NOT NULL,
    home            TEXT COLLATE "C" NOT NULL,
    home_version    BIGINT           NOT NULL,
    status          TEXT COLLATE "C" NOT NULL,
    created_at      BIGINT           NOT NULL,
    fact            TEXT COLLATE "C" NOT NULL,
    hash            TEXT COLLATE "C" NOT NULL,
    fact_status     TEXT COLLATE "C" NOT NULL,
    fact_created_at BIGINT           NOT NULL,
    version         BIGINT           NOT NULL,
    PRIMARY KEY (owner, id)
);

CREATE INDEX links_version ON links (owner, version, id);
CREATE INDEX links_created ON links (owner, fact_created_at);
CREATE INDEX links_home ON links (owner, home, id);

CREATE TABLE vectors (
    owner  TEXT COLLATE "C" NOT NULL,
    memory TEXT COLLATE "C" NOT NULL,
    model  TEXT COLLATE "C" NOT NULL,
    dims   BIGINT           NOT NULL,
    data   BYTEA            NOT NULL,
    PRIMARY KEY (owner, memory, model)
);

CREATE TABLE conversations (
    owner         TEXT COLLATE "C" NOT NULL,
    id            TEXT COLLATE "C" NOT NULL,
    project       TEXT COLLATE "C" NOT NULL,
    agent         TEXT COLLATE "C" NOT NULL,
    title         TEXT COLLATE "C" NOT NULL,
    contexts      TEXT COLLATE "C" NOT NULL,
    rules         TEXT COLLATE "C" NOT NULL,
    message_count BIGINT           NOT NULL,
    created_at    BIGINT           NOT NULL,
    updated_at    BIGINT           NOT NULL,
    status        TEXT COLLATE "C" NOT NULL DEFAULT 'active',
    version       BIGINT           NOT NULL DEFAULT 0,
    PRIMARY KEY (owner, id)
);

CREATE INDEX conversations_updated ON conversations (owner, updated_at);

CREATE TABLE turns (
    owner        TEXT COLLATE "C" NOT NULL,
    id           TEXT COLLATE "C" NOT NULL,
    conversation TEXT COLLATE "C" NOT NULL,
    project      TEXT COLLATE "C" NOT NULL,
    agent        TEXT COLLATE "C" NOT NULL,
    place        BIGINT           NOT NULL,
    parent       TEXT COLLATE "C" NOT NULL,
    chain        TEXT COLLATE "C" NOT NULL,
    role         TEXT COLLATE "C" NOT NULL,
    name         TEXT COLLATE "C" NOT NULL,
    content      TEXT COLLATE "C" NOT NULL,
    ref          TEXT COLLATE "C" NOT NULL,
    status       TEXT COLLATE "C" NOT NULL,
    created_at   BIGINT           NOT NULL,
    recorded_at  BIGINT           NOT NULL,
    learned_at   BIGINT           NOT NULL,
    no_learn     BOOLEAN          NOT NULL,
    version      BIGINT           NOT NULL,
    history      BOOLEAN          NOT NULL DEFAULT false,
    given        TEXT             NOT NULL DEFAULT '',
    foreign_ranges TEXT           NOT NULL DEFAULT '', -- what of a turn somebody else wrote than the one in whose name it came
    PRIMARY KEY (owner, id)
);

CREATE INDEX turns_place ON turns (owner, conversation, place);
CREATE INDEX turns_version ON turns (owner, version, id);
CREATE INDEX turns_created ON turns (owner, status, created_at, id);
CREATE INDEX turns_chain ON turns (owner, chain) WHERE chain <> '';
CREATE INDEX turns_unlearned ON turns (owner, conversation)
    WHERE role = 'user' AND learned_at = 0 AND NOT no_learn;

CREATE TABLE summaries (
    owner         TEXT COLLATE "C" NOT NULL,
    id            TEXT COLLATE "C" NOT NULL,
    project       TEXT COLLATE "C" NOT NULL,
    agent         TEXT COLLATE "C" NOT NULL,
    conversation  TEXT COLLATE "C" NOT NULL,
    content       TEXT COLLATE "C" NOT NULL,
    message_count BIGINT           NOT NULL,
    model         TEXT COLLATE "C" NOT NULL,
    status        TEXT COLLATE "C" NOT NULL,
    created_at    BIGINT           NOT NULL,
    version       BIGINT           NOT NULL,
    PRIMARY KEY (owner, id)
);

CREATE INDEX summaries_version ON summaries (owner, version, id);
CREATE INDEX summaries_created ON summaries (owner, status, created_at, id);
CREATE INDEX summaries_conversation ON summaries (owner, conversation, created_at);

CREATE TABLE profile (
    owner      TEXT COLLATE "C" NOT NULL,
    key        TEXT COLLATE "C" NOT NULL,
    value      TEXT COLLATE "C" NOT NULL,
    tokens     BIGINT           NOT NULL,
    status     TEXT COLLATE "C" NOT NULL,
    updated_at BIGINT           NOT NULL,
    version    BIGINT           NOT NULL,
    PRIMARY KEY (owner, key)
);

CREATE TABLE relations (
    owner      TEXT COLLATE "C" NOT NULL,
    from_fact  TEXT COLLATE "C" NOT NULL,
    to_fact    TEXT COLLATE "C" NOT NULL,
    kind       TEXT COLLATE "C" NOT NULL,
    status     TEXT COLLATE "C" NOT NULL,
    created_at BIGINT           NOT NULL,
    version    BIGINT           NOT NULL,
    PRIMARY KEY (owner, from_fact, to_fact, kind)
);

CREATE INDEX relations_to ON relations (owner, to_fact);

CREATE TABLE journal (
    owner   TEXT COLLATE "C" NOT NULL,
    version BIGINT           NOT NULL,
    ordinal BIGINT           NOT NULL,
    run     TEXT COLLATE "C" NOT NULL,
    target  TEXT COLLATE "C" NOT NULL,
    action  TEXT COLLATE "C" NOT NULL,
    base    BIGINT           NOT NULL,
    old_id  TEXT COLLATE "C" NOT NULL,
    new_id  TEXT COLLATE "C" NOT NULL,
    reason  TEXT COLLATE "C" NOT NULL,
    author  TEXT COLLATE "C" NOT NULL,
    at      BIGINT           NOT NULL,
    before  TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (owner, version, ordinal)
);

CREATE INDEX journal_target ON journal (owner, target, version, ordinal);
CREATE INDEX journal_old ON journal (owner, old_id) WHERE old_id <> '';
CREATE INDEX journal_new ON journal (owner, new_id) WHERE new_id <> '';

CREATE TABLE runs (
    owner   TEXT COLLATE "C" NOT NULL,
    id      TEXT COLLATE "C" NOT NULL,
    kind    TEXT COLLATE "C" NOT NULL,
    author  TEXT COLLATE "C" NOT NULL,
    version BIGINT           NOT NULL,
    at      BIGINT           NOT NULL,
    changes BIGINT           NOT NULL,
    PRIMARY KEY (owner, id)
);

CREATE TABLE jobs (
    owner        TEXT COLLATE "C" NOT NULL,
    id           TEXT COLLATE "C" NOT NULL,
    kind         TEXT COLLATE "C" NOT NULL,
    conversation TEXT COLLATE "C" NOT NULL,
    turns        TEXT COLLATE "C" NOT NULL,
    state        TEXT COLLATE "C" NOT NULL,
    attempts     BIGINT           NOT NULL,
    run_at       BIGINT           NOT NULL,
    created_at   BIGINT           NOT NULL,
    error        TEXT COLLATE "C" NOT NULL,
    token        TEXT COLLATE "C" NOT NULL,
    lease_until  BIGINT           NOT NULL,
    PRIMARY KEY (owner, id)
);

CREATE INDEX jobs_queued ON jobs (owner, kind, run_at, created_at, id) WHERE state = 'queued';
-- Of an owner and kind one runs at a time.
CREATE UNIQUE INDEX jobs_running ON jobs (owner, kind) WHERE state = 'running';
CREATE INDEX jobs_parked ON jobs (owner) WHERE state = 'parked';

-- Documents that are attached to conversations.
CREATE TABLE contexts (
    owner      TEXT COLLATE "C" NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    title      TEXT COLLATE "C" NOT NULL,
    content    TEXT COLLATE "C" NOT NULL,
    status     TEXT COLLATE "C" NOT NULL,
    created_at BIGINT           NOT NULL,
    updated_at BIGINT           NOT NULL,
    version    BIGINT           NOT NULL,
    PRIMARY KEY (owner, id)
);

CREATE TABLE traces (
    owner TEXT COLLATE "C" NOT NULL,
    id    TEXT COLLATE "C" NOT NULL,
    at    BIGINT           NOT NULL,
    data  TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (owner, id)
);

CREATE INDEX traces_at ON traces (owner, at, id);

CREATE TABLE api_keys (
    owner        TEXT COLLATE "C" NOT NULL,
    hash         TEXT COLLATE "C" NOT NULL,
    name         TEXT COLLATE "C" NOT NULL,
    role         TEXT COLLATE "C" NOT NULL,
    "user"       TEXT COLLATE "C" NOT NULL,
    created_at   BIGINT           NOT NULL,
    last_used_at BIGINT           NOT NULL,
    revoked_at   BIGINT           NOT NULL,
    scope        TEXT COLLATE "C" NOT NULL DEFAULT '',
    PRIMARY KEY (owner, hash)
);

-- Workers serve all owners: the next job is the one that has been due the longest
-- whoever it belongs to.
CREATE INDEX jobs_due ON jobs (run_at, created_at, owner, kind, id) WHERE state = 'queued';

-- Every chat is given the pinned facts, which are few among all.
CREATE INDEX facts_pinned ON facts (owner, status, created_at) WHERE pinned;

-- What models were paid for on an owner's account.
CREATE TABLE ledger (
    owner         TEXT COLLATE "C" NOT NULL,
    day           BIGINT           NOT NULL,
    purpose       TEXT COLLATE "C" NOT NULL,
    model         TEXT COLLATE "C" NOT NULL,
    calls         BIGINT           NOT NULL,
    input_tokens  BIGINT           NOT NULL,
    output_tokens BIGINT           NOT NULL,
    cost          DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (owner, day, purpose, model)
);

-- What is learned is compared with what was forgotten or refused in the same words.
CREATE INDEX facts_past ON facts (owner, hash) WHERE status NOT IN ('active', 'pending');

-- What was said in turns that are out of recall, as keyed hashes: it is known again
-- when a client sends it on another path.
CREATE TABLE tombstones (
    owner TEXT COLLATE "C" NOT NULL,
    mark  TEXT COLLATE "C" NOT NULL,
    turn  TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (owner, mark, turn)
);

CREATE INDEX tombstones_turn ON tombstones (owner, turn);

-- The keys of those hashes.
CREATE TABLE secrets (
    owner  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    secret TEXT COLLATE "C" NOT NULL
);

-- Which traces have the words of a fact that their owner was shown out of another's memory:
-- they go when it is erased.
CREATE TABLE trace_facts (
    owner TEXT COLLATE "C" NOT NULL,
    trace TEXT COLLATE "C" NOT NULL,
    fact  TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (owner, trace, fact)
);

-- Who was shown a fact is not known when it is erased.
CREATE INDEX trace_facts_fact ON trace_facts (fact, owner, trace);

-- A fact that is recalled is told with what it took the place of.
CREATE INDEX facts_superseded ON facts (owner, superseded_by) WHERE superseded_by <> '';

-- Requests refer to answers by the ids of their items.
CREATE INDEX turns_ref ON turns (owner, ref) WHERE ref <> '';

-- What was committed a moment ago, for who was not answered when it was. The owner is '' of
-- what is written for none or many.
CREATE TABLE commits (
    owner TEXT COLLATE "C" NOT NULL,
    id    TEXT COLLATE "C" NOT NULL,
    at    BIGINT           NOT NULL,
    PRIMARY KEY (owner, id)
);

-- Who did what: entries are only added, until they are old.
CREATE TABLE audit (
    owner   TEXT COLLATE "C" NOT NULL,
    id      TEXT COLLATE "C" NOT NULL,
    at      BIGINT           NOT NULL,
    act     TEXT COLLATE "C" NOT NULL,
    "by"    TEXT COLLATE "C" NOT NULL,
    "user"  TEXT COLLATE "C" NOT NULL,
    detail  TEXT COLLATE "C" NOT NULL,
    address TEXT COLLATE "C" NOT NULL,
    request TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (owner, id)
);

CREATE INDEX audit_at ON audit (owner, at, id);
