-- +goose Up

-- Which traces have the words of a fact that their owner was shown out of another's memory:
-- they go when it is erased. listed: 1 for those of which this says so, 0 for those that a
-- release before wrote.
CREATE TABLE trace_facts (
    owner TEXT NOT NULL,
    trace TEXT NOT NULL,
    fact  TEXT NOT NULL,
    PRIMARY KEY (owner, trace, fact)
) STRICT, WITHOUT ROWID;

-- Who was shown a fact is not known when it is erased.
CREATE INDEX trace_facts_fact ON trace_facts (fact, owner, trace);

ALTER TABLE traces ADD COLUMN listed INTEGER NOT NULL DEFAULT 0;

CREATE INDEX traces_unlisted ON traces (owner, id) WHERE listed = 0;
