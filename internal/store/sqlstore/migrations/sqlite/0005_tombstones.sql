-- +goose Up

-- What was said in turns that are out of recall, as keyed hashes: it is known again
-- when a client sends it on another path.
CREATE TABLE tombstones (
    owner TEXT NOT NULL,
    mark  TEXT NOT NULL,
    turn  TEXT NOT NULL,
    PRIMARY KEY (owner, mark, turn)
) STRICT, WITHOUT ROWID;

CREATE INDEX tombstones_turn ON tombstones (owner, turn);

-- The keys of those hashes.
CREATE TABLE secrets (
    owner  TEXT NOT NULL PRIMARY KEY,
    secret TEXT NOT NULL
) STRICT, WITHOUT ROWID;
