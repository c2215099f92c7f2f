-- +goose Up

-- Requests refer to answers by the ids of their items.
CREATE INDEX IF NOT EXISTS turns_ref ON turns (owner, ref) WHERE ref <> '';
