-- +goose Up

-- A fact that is found by search alone, never put into a prompt by itself.
ALTER TABLE facts ADD COLUMN core_never INTEGER NOT NULL DEFAULT 0;
