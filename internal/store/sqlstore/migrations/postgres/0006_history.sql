-- +goose Up

-- A turn that a client brought along as history is kept so that the chat is known again.
ALTER TABLE turns ADD COLUMN IF NOT EXISTS history BOOLEAN NOT NULL DEFAULT false;
