-- +goose Up

-- Workers serve all owners: the next job is the one that has been due the longest
-- whoever it belongs to.
CREATE INDEX jobs_due ON jobs (run_at, created_at, owner, id, kind) WHERE state = 'queued';

-- Every chat is given the pinned facts, which are few among all.
CREATE INDEX facts_pinned ON facts (owner, status, created_at) WHERE pinned;
