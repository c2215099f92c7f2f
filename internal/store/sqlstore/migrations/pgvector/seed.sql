-- Where the server has pgvector, vectors can be searched in the database, and by other
-- programs: a vector has an id, its values as a halfvec and what the memory says, users_vectors
-- says which facts each user has now, and memory_updates which fact took the place of which.
-- It may run again, and does so where the comment below is another.

ALTER TABLE vectors ADD COLUMN IF NOT EXISTS id TEXT COLLATE "C";
ALTER TABLE vectors ADD COLUMN IF NOT EXISTS "values" HALFVEC; -- as data; NULL if that has no direction
ALTER TABLE vectors ADD COLUMN IF NOT EXISTS metadata JSONB;   -- content, type and created_at; NULL until the other two are filled

UPDATE vectors SET metadata = NULL WHERE metadata IS NOT NULL AND "values" IS NULL; -- since the extension was dropped
CREATE INDEX IF NOT EXISTS vectors_unfilled ON vectors (owner, memory) WHERE metadata IS NULL;
CREATE INDEX IF NOT EXISTS vectors_id ON vectors (id);

CREATE OR REPLACE VIEW remembered AS
    SELECT m.owner, m.id, m.type, m.content, m.active,
        to_char(to_timestamp(m.created_at / 1000000.0 - 62135596800) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at
    FROM (
        SELECT owner, id, 'memory' AS type, content, created_at, status = 'active' AS active FROM facts
        UNION ALL
        SELECT owner, id, 'turn', content, created_at, status = 'active' AND content <> '' FROM turns
        UNION ALL
        SELECT owner, id, 'summary', content, created_at, status = 'active' FROM summaries
        UNION ALL
        SELECT l.owner, l.id, 'memory', f.content, f.created_at, l.status = 'active' AND l.fact_status = 'active'
        FROM links l JOIN facts f ON f.owner = l.home AND f.id = l.id
    ) AS m;

-- owners is joined so that a user's rows are found by the indexes, which begin with the owner.
CREATE OR REPLACE VIEW users_vectors AS
    SELECT regexp_replace(o.owner, '^default/user/', '') AS user_id, v.id AS vector_id
    FROM owners o JOIN vectors v ON v.owner = o.owner
    WHERE (SELECT m.active AND m.type = 'memory' FROM remembered m WHERE m.owner = v.owner AND m.id = v.memory LIMIT 1);

-- A replacement is two rows of the journal, and one here: that of the fact that went.
CREATE OR REPLACE VIEW memory_updates AS
    SELECT md5(j.owner || '/' || j.version || '/' || j.ordinal)::uuid AS id, regexp_replace(o.owner, '^default/user/', '') AS user_id,
        j.old_id AS old_vector_id, j.new_id AS new_vector_id, j.reason, to_timestamp(j.at / 1000000.0 - 62135596800) AS created_at
    FROM owners o JOIN journal j ON j.owner = o.owner
    WHERE j.action IN ('replace', 'unlink') AND j.new_id <> '';

COMMENT ON VIEW memory_updates IS 'Loci 2';
