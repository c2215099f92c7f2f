-- +goose Up

-- A turn that a client brought along as history is kept so that the chat is known again.
ALTER TABLE turns ADD COLUMN history BOOLEAN NOT NULL DEFAULT false;
