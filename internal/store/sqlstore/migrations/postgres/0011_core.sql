-- +goose Up

-- A fact that is found by search alone, never put into a prompt by itself.
ALTER TABLE facts ADD COLUMN IF NOT EXISTS core_never BOOLEAN NOT NULL DEFAULT false;
