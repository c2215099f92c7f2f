-- What searches of huge scopes look at, where the server has pgvector. It is made of
-- what the other tables have, and may be made anew.

-- How far that is, for an owner and the embedder whose vectors they are.
CREATE TABLE IF NOT EXISTS near_state (
    owner    TEXT COLLATE "C" NOT NULL,
    model    TEXT COLLATE "C" NOT NULL,
    version  BIGINT           NOT NULL DEFAULT 0, -- of the owner, that it has all of
    dims     BIGINT           NOT NULL DEFAULT 0, -- of the vectors; 0 until there is one
    memories BIGINT           NOT NULL DEFAULT 0,
    bare     BIGINT           NOT NULL DEFAULT 0, -- of those, without a vector
    ready    BOOLEAN          NOT NULL DEFAULT false,

    facts     BIGINT NOT NULL DEFAULT 0, -- of the memories
    summaries BIGINT NOT NULL DEFAULT 0,

    -- Lengths of all together.
    fact_length    BIGINT NOT NULL DEFAULT 0,
    summary_length BIGINT NOT NULL DEFAULT 0,
    turn_length    BIGINT NOT NULL DEFAULT 0,
    first_length   BIGINT NOT NULL DEFAULT 0, -- of the first and of the last turn of each conversation
    second_length  BIGINT NOT NULL DEFAULT 0, -- of those next to them
    third_length   BIGINT NOT NULL DEFAULT 0,

    PRIMARY KEY (owner, model)
);

-- What recall may see. Its indexes by words and by vectors are made for one owner and
-- embedder each.
CREATE TABLE IF NOT EXISTS near (
    owner        TEXT COLLATE "C" NOT NULL,
    model        TEXT COLLATE "C" NOT NULL,
    memory       TEXT COLLATE "C" NOT NULL,
    kind         TEXT COLLATE "C" NOT NULL,
    project      TEXT COLLATE "C" NOT NULL,
    agent        TEXT COLLATE "C" NOT NULL,
    conversation TEXT COLLATE "C" NOT NULL, -- of its scope
    thread       TEXT COLLATE "C" NOT NULL, -- the conversation that said or taught it
    place        BIGINT           NOT NULL, -- of a turn in it, -1 for another memory
    category     TEXT COLLATE "C" NOT NULL,
    tags         TEXT[] COLLATE "C" NOT NULL,
    expires      BIGINT           NOT NULL, -- 0: never
    words        TSVECTOR         NOT NULL, -- terms, as package text makes them
    length       BIGINT           NOT NULL, -- how many there are, in thirds; of the day it was said, one each
    vector       HALFVEC,
    PRIMARY KEY (owner, model, memory)
);

CREATE INDEX IF NOT EXISTS near_kind ON near (owner, model, kind);
CREATE INDEX IF NOT EXISTS near_project ON near (owner, model, project, agent);
CREATE INDEX IF NOT EXISTS near_thread ON near (owner, model, thread, place, memory);

-- In how many memories of an owner a term is.
CREATE TABLE IF NOT EXISTS near_terms (
    owner TEXT COLLATE "C" NOT NULL,
    model TEXT COLLATE "C" NOT NULL,
    term  TEXT COLLATE "C" NOT NULL,
    n     BIGINT           NOT NULL,
    PRIMARY KEY (owner, model, term)
);
