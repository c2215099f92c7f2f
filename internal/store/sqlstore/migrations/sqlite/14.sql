-- From version 11.

DROP INDEX traces_unlisted;
ALTER TABLE traces DROP COLUMN listed;
ALTER TABLE turns ADD COLUMN foreign_ranges TEXT NOT NULL DEFAULT '';
ALTER TABLE facts ADD COLUMN core_never INTEGER NOT NULL DEFAULT 0;
DROP TABLE feedback;
DROP TABLE conversation_events;
DROP INDEX IF EXISTS facts_created;
CREATE INDEX facts_created ON facts (owner, status, created_at, id);
DROP INDEX IF EXISTS turns_created;
CREATE INDEX turns_created ON turns (owner, status, created_at, id);
DROP INDEX IF EXISTS summaries_created;
CREATE INDEX summaries_created ON summaries (owner, status, created_at, id);
