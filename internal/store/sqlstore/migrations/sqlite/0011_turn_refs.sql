-- +goose Up

-- Requests refer to answers by the ids of their items.
CREATE INDEX turns_ref ON turns (owner, ref) WHERE ref <> '';
