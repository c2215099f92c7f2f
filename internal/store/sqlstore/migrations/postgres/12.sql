-- From version 8 or later.

DROP INDEX IF EXISTS traces_unlisted;
ALTER TABLE traces DROP COLUMN IF EXISTS listed;
ALTER TABLE turns ADD COLUMN IF NOT EXISTS foreign_ranges TEXT NOT NULL DEFAULT '';
ALTER TABLE facts ADD COLUMN IF NOT EXISTS core_never BOOLEAN NOT NULL DEFAULT false;
DROP TABLE due;
DROP INDEX jobs_due;
CREATE INDEX jobs_due ON jobs (run_at, created_at, owner, kind, id) WHERE state = 'queued';
DROP INDEX jobs_running;
CREATE UNIQUE INDEX jobs_running ON jobs (owner, kind) WHERE state = 'running';
CREATE TABLE IF NOT EXISTS commits (
    owner TEXT COLLATE "C" NOT NULL,
    id    TEXT COLLATE "C" NOT NULL,
    at    BIGINT           NOT NULL,
    PRIMARY KEY (owner, id)
);
DROP TABLE feedback;
DROP TABLE conversation_events;
DROP INDEX IF EXISTS facts_created;
CREATE INDEX facts_created ON facts (owner, status, created_at, id);
DROP INDEX IF EXISTS turns_created;
CREATE INDEX turns_created ON turns (owner, status, created_at, id);
DROP INDEX IF EXISTS summaries_created;
CREATE INDEX summaries_created ON summaries (owner, status, created_at, id);
