ALTER TABLE api_keys ADD COLUMN scope TEXT NOT NULL DEFAULT '';
CREATE TABLE audit (
    owner   TEXT    NOT NULL,
    id      TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    act     TEXT    NOT NULL,
    "by"    TEXT    NOT NULL,
    user    TEXT    NOT NULL,
    detail  TEXT    NOT NULL,
    address TEXT    NOT NULL,
    request TEXT    NOT NULL,
    PRIMARY KEY (owner, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX audit_at ON audit (owner, at, id);
