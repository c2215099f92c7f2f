-- +goose Up

-- Which memories a request got with a turn, without their words.
ALTER TABLE turns ADD COLUMN given TEXT NOT NULL DEFAULT '';
