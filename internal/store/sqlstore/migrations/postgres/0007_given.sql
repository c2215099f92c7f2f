-- +goose Up

-- Which memories a request got with a turn, without their words.
ALTER TABLE turns ADD COLUMN IF NOT EXISTS given TEXT NOT NULL DEFAULT '';
