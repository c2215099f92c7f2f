-- +goose Up

-- Documents that are attached to conversations. Nothing was ever in the table that
-- stood here.
DROP TABLE contexts;

CREATE TABLE contexts (
    owner      TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    title      TEXT    NOT NULL,
    content    TEXT    NOT NULL,
    status     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    PRIMARY KEY (owner, id)
) STRICT;

-- What of a conversation changes by the one door, and the version that did.
ALTER TABLE conversations ADD COLUMN status TEXT NOT NULL DEFAULT 'active';
ALTER TABLE conversations ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
