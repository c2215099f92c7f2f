-- +goose Up

-- Documents that are attached to conversations. Nothing was ever in the table that
-- stood here.
DROP TABLE contexts;

CREATE TABLE contexts (
    owner      TEXT COLLATE "C" NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    title      TEXT COLLATE "C" NOT NULL,
    content    TEXT COLLATE "C" NOT NULL,
    status     TEXT COLLATE "C" NOT NULL,
    created_at BIGINT           NOT NULL,
    updated_at BIGINT           NOT NULL,
    version    BIGINT           NOT NULL,
    PRIMARY KEY (owner, id)
);

-- What of a conversation changes by the one door, and the version that did.
ALTER TABLE conversations ADD COLUMN status TEXT COLLATE "C" NOT NULL DEFAULT 'active';
ALTER TABLE conversations ADD COLUMN version BIGINT NOT NULL DEFAULT 0;
