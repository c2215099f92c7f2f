-- +goose Up

-- What is learned is compared with what was forgotten or refused in the same words.
CREATE INDEX facts_past ON facts (owner, hash) WHERE status NOT IN ('active', 'pending');
