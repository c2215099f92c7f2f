-- +goose Up

-- Which line of jobs is to be looked at next, and when: a hint to workers, who serve all
-- owners. It is written after what it is about, may be lost, and is made again from the
-- jobs. Where tables are spread over nodes it stays on one. jobs_due stays for servers of
-- the release before.
CREATE TABLE due (
    owner   TEXT COLLATE "C" NOT NULL,
    kind    TEXT COLLATE "C" NOT NULL,
    at      BIGINT           NOT NULL, -- its first job is due, or its lease runs out
    created BIGINT           NOT NULL, -- when that job was made, 0 for a lease
    leased  BOOLEAN          NOT NULL,
    n       BIGINT           NOT NULL, -- rises with each hint, for those who correct one
    PRIMARY KEY (owner, kind)
) WITH (fillfactor = 50);

CREATE INDEX due_at ON due (at, created, owner);
