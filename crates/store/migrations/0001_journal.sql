-- The run tree, its steps, its bills, its processes, and the events that wait for the spine.
-- Times are milliseconds since 1970, money is billionths of a dollar, JSON is text.

CREATE TABLE run (
    id                 TEXT    NOT NULL PRIMARY KEY,
    parent             TEXT    REFERENCES run (id),
    trace              TEXT    NOT NULL,
    kind               TEXT    NOT NULL,
    name               TEXT    NOT NULL,
    task               TEXT,
    attempt            INTEGER NOT NULL,
    depth              INTEGER NOT NULL,
    role               TEXT,
    backend            TEXT,
    model              TEXT,
    state              TEXT    NOT NULL,
    outcome            TEXT,
    park               TEXT,
    mark               TEXT,
    reason             TEXT,
    base_commit        TEXT,
    tree_hash          TEXT,
    started            INTEGER NOT NULL,
    ended              INTEGER,
    turns              INTEGER NOT NULL,
    input_tokens       INTEGER NOT NULL,
    output_tokens      INTEGER NOT NULL,
    cache_read_tokens  INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    cost_nanos         INTEGER NOT NULL,
    cost_estimated     INTEGER NOT NULL,
    experiment         TEXT,
    settings           TEXT    NOT NULL
) STRICT;

CREATE INDEX run_by_parent ON run (parent, started, id);

CREATE TABLE step (
    seq      INTEGER PRIMARY KEY,
    run      TEXT    NOT NULL REFERENCES run (id),
    key      TEXT    NOT NULL,
    class    TEXT    NOT NULL,
    attempt  INTEGER NOT NULL,
    intent   TEXT    NOT NULL,
    result   TEXT,
    begun    INTEGER NOT NULL,
    finished INTEGER,
    UNIQUE (run, key)
) STRICT;

CREATE TABLE ledger (
    session            TEXT    NOT NULL PRIMARY KEY REFERENCES run (id),
    root               TEXT    NOT NULL REFERENCES run (id),
    role               TEXT    NOT NULL,
    backend            TEXT    NOT NULL,
    model              TEXT,
    turns              INTEGER NOT NULL,
    input_tokens       INTEGER NOT NULL,
    output_tokens      INTEGER NOT NULL,
    cache_read_tokens  INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    cost_nanos         INTEGER NOT NULL,
    cost_estimated     INTEGER NOT NULL,
    interrupted        INTEGER NOT NULL,
    booked             INTEGER NOT NULL
) STRICT;

CREATE INDEX ledger_by_root ON ledger (root, booked, session);

CREATE TABLE process (
    token       TEXT    NOT NULL PRIMARY KEY,
    root        TEXT    NOT NULL REFERENCES run (id),
    session     TEXT    NOT NULL REFERENCES run (id),
    pid         INTEGER NOT NULL,
    start_ticks INTEGER NOT NULL,
    boot_id     TEXT    NOT NULL,
    started     INTEGER NOT NULL,
    ended       INTEGER
) STRICT;

CREATE INDEX process_open ON process (root, started, token) WHERE ended IS NULL;

CREATE TABLE outbox (
    seq  INTEGER PRIMARY KEY,
    id   TEXT NOT NULL UNIQUE,
    line TEXT NOT NULL
) STRICT;

-- At most one row: where in the spine the flush that is under way began to write.
CREATE TABLE flush (
    only      INTEGER PRIMARY KEY CHECK (only = 1),
    partition TEXT    NOT NULL,
    offset    INTEGER NOT NULL
) STRICT;
