-- What is known, why it belongs together, and the words in it.
-- Times are milliseconds since 1970, JSON is text. The ends of an edge, a region and a run are
-- ids without a foreign key: code lives in another file, and knowledge outlives what it came from.

-- The large columns come last, so that who walks past a node does not read through them.
CREATE TABLE node (
    seq           INTEGER PRIMARY KEY,
    id            TEXT    NOT NULL UNIQUE,
    class         TEXT    NOT NULL,
    kind          TEXT    NOT NULL,
    title         TEXT    NOT NULL,
    parent        TEXT,
    created       INTEGER NOT NULL,
    updated       INTEGER NOT NULL,
    superseded_by TEXT,
    confidence    REAL,
    agent         TEXT,
    run           TEXT,
    metadata      TEXT    NOT NULL,
    content       TEXT    NOT NULL
) STRICT;

CREATE INDEX node_by_creation ON node (created, id);
CREATE INDEX node_by_kind ON node (kind, created, id);
CREATE INDEX node_by_class ON node (class, kind, superseded_by);
CREATE INDEX node_by_title ON node (title);
CREATE INDEX node_by_parent ON node (parent) WHERE parent IS NOT NULL;
CREATE INDEX node_by_run ON node (run) WHERE run IS NOT NULL;
CREATE INDEX node_by_successor ON node (superseded_by) WHERE superseded_by IS NOT NULL;

CREATE TABLE edge (
    seq           INTEGER PRIMARY KEY,
    id            TEXT    NOT NULL UNIQUE,
    source        TEXT    NOT NULL,
    target        TEXT    NOT NULL,
    kind          TEXT    NOT NULL,
    confidence    REAL,
    created       INTEGER NOT NULL,
    superseded_by TEXT,
    agent         TEXT,
    run           TEXT,
    reason        TEXT,
    metadata      TEXT    NOT NULL,
    content       TEXT
) STRICT;

-- All that a walk needs, so that it never reads the rows themselves.
CREATE INDEX edge_by_source ON edge (source, target, kind, confidence, superseded_by);
CREATE INDEX edge_by_target ON edge (target, source, kind, confidence, superseded_by);
CREATE INDEX edge_by_creation ON edge (created, id);
CREATE INDEX edge_by_kind ON edge (kind, created, id);
CREATE INDEX edge_by_successor ON edge (superseded_by) WHERE superseded_by IS NOT NULL;

CREATE VIRTUAL TABLE node_text USING fts5 (
    title, content, content = 'node', content_rowid = 'seq',
    tokenize = 'unicode61 remove_diacritics 2'
);

CREATE TRIGGER node_text_added AFTER INSERT ON node BEGIN
    INSERT INTO node_text (rowid, title, content) VALUES (new.seq, new.title, new.content);
END;

CREATE TRIGGER node_text_removed AFTER DELETE ON node BEGIN
    INSERT INTO node_text (node_text, rowid, title, content)
    VALUES ('delete', old.seq, old.title, old.content);
END;

CREATE TRIGGER node_text_changed AFTER UPDATE OF title, content ON node BEGIN
    INSERT INTO node_text (node_text, rowid, title, content)
    VALUES ('delete', old.seq, old.title, old.content);
    INSERT INTO node_text (rowid, title, content) VALUES (new.seq, new.title, new.content);
END;
