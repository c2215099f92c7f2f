-- +goose Up

-- A fact that is recalled is told with what it took the place of.
CREATE INDEX facts_superseded ON facts (owner, superseded_by) WHERE superseded_by <> '';
