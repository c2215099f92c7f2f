-- +goose Up

-- What models were paid for on an owner's account.
CREATE TABLE ledger (
    owner         TEXT    NOT NULL,
    day           INTEGER NOT NULL,
    purpose       TEXT    NOT NULL,
    model         TEXT    NOT NULL,
    calls         INTEGER NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost          REAL    NOT NULL,
    PRIMARY KEY (owner, day, purpose, model)
) STRICT, WITHOUT ROWID;
