-- +goose Up

-- trace_facts names the facts of every trace.
DROP INDEX traces_unlisted;
ALTER TABLE traces DROP COLUMN listed;
