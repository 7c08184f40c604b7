-- Answers worth keeping between runs, and the list of all runs in order.

CREATE TABLE cache (
    kind   TEXT    NOT NULL,
    key    TEXT    NOT NULL,
    value  TEXT    NOT NULL,
    stored INTEGER NOT NULL,
    PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX run_by_start ON run (started, id);
