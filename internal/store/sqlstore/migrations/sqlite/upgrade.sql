-- From version 11.

DROP INDEX traces_unlisted;
ALTER TABLE traces DROP COLUMN listed;
ALTER TABLE turns ADD COLUMN foreign_ranges TEXT NOT NULL DEFAULT '';
ALTER TABLE facts ADD COLUMN core_never INTEGER NOT NULL DEFAULT 0;
DROP TABLE feedback;
DROP TABLE conversation_events;
