-- +goose Up

-- Which traces have the words of a fact that their owner was shown out of another's memory:
-- they go when it is erased. A server of the release before takes traces away and leaves what
-- this says of them, which costs nothing but its place. listed: 1 for those of which this
-- says so, 0 for those that a server of the release before wrote.
CREATE TABLE trace_facts (
    owner TEXT COLLATE "C" NOT NULL,
    trace TEXT COLLATE "C" NOT NULL,
    fact  TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (owner, trace, fact)
);

-- Who was shown a fact is not known when it is erased.
CREATE INDEX trace_facts_fact ON trace_facts (fact, owner, trace);

ALTER TABLE traces ADD COLUMN listed BIGINT NOT NULL DEFAULT 0;

CREATE INDEX traces_unlisted ON traces (owner, id) WHERE listed = 0;
