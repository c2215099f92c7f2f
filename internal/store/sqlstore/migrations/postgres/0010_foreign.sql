-- +goose Up

-- What of a turn somebody else wrote than the one in whose name it came.
ALTER TABLE turns ADD COLUMN IF NOT EXISTS foreign_ranges TEXT NOT NULL DEFAULT '';
