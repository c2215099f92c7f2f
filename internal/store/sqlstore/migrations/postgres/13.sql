ALTER TABLE api_keys ADD COLUMN scope TEXT COLLATE "C" NOT NULL DEFAULT '';
CREATE TABLE audit (
    owner   TEXT COLLATE "C" NOT NULL,
    id      TEXT COLLATE "C" NOT NULL,
    at      BIGINT           NOT NULL,
    act     TEXT COLLATE "C" NOT NULL,
    "by"    TEXT COLLATE "C" NOT NULL,
    "user"  TEXT COLLATE "C" NOT NULL,
    detail  TEXT COLLATE "C" NOT NULL,
    address TEXT COLLATE "C" NOT NULL,
    request TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (owner, id)
);

CREATE INDEX audit_at ON audit (owner, at, id);
