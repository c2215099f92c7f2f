-- +goose Up

-- Workers claim jobs from the table itself: of an owner and kind one runs at a time. No
-- release has due.
DROP TABLE due;
DROP INDEX jobs_due;
CREATE INDEX jobs_due ON jobs (run_at, created_at, owner, kind, id) WHERE state = 'queued';
DROP INDEX jobs_running;
CREATE UNIQUE INDEX jobs_running ON jobs (owner, kind) WHERE state = 'running';

-- What was committed a moment ago, for who was not answered when it was. The owner is '' of
-- what is written for none or many.
CREATE TABLE IF NOT EXISTS commits (
    owner TEXT COLLATE "C" NOT NULL,
    id    TEXT COLLATE "C" NOT NULL,
    at    BIGINT           NOT NULL,
    PRIMARY KEY (owner, id)
);
