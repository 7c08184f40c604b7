-- What was spent, summed up as it is booked: by run, role, model, day (since 1970, UTC) and experiment.
-- Sums over a long ledger are read here and not made anew; those that a question narrows down are
-- still made of the ledger. A trigger keeps them, so no way of booking leaves them out.

CREATE TABLE spent (
    by                 TEXT    NOT NULL,
    -- Zero where a session has no model or its run no experiment; `word` is empty then.
    known              INTEGER NOT NULL,
    word               TEXT    NOT NULL,
    -- What people call it, where that is something else.
    label              TEXT,
    runs               INTEGER NOT NULL,
    sessions           INTEGER NOT NULL,
    turns              INTEGER NOT NULL,
    input_tokens       INTEGER NOT NULL,
    output_tokens      INTEGER NOT NULL,
    cache_read_tokens  INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    cost_nanos         INTEGER NOT NULL,
    cost_estimated     INTEGER NOT NULL,
    PRIMARY KEY (by, known, word)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER ledger_spent AFTER INSERT ON ledger BEGIN
    INSERT INTO spent (by, known, word, label, runs, sessions, turns, input_tokens, output_tokens,
        cache_read_tokens, cache_write_tokens, cost_nanos, cost_estimated)
    SELECT part.by, part.word IS NOT NULL, coalesce(part.word, ''), part.label, part.is_new, 1,
        NEW.turns, NEW.input_tokens, NEW.output_tokens, NEW.cache_read_tokens,
        NEW.cache_write_tokens, NEW.cost_nanos, NEW.cost_estimated
    FROM (
        SELECT 'run' AS by, NEW.root AS word, run.name AS label, NOT EXISTS (
            SELECT 1 FROM ledger WHERE root = NEW.root AND session <> NEW.session) AS is_new
        FROM run WHERE run.id = NEW.root
        UNION ALL
        SELECT 'experiment', run.experiment, NULL, NOT EXISTS (
            SELECT 1 FROM ledger WHERE root = NEW.root AND session <> NEW.session)
        FROM run WHERE run.id = NEW.root
        UNION ALL
        SELECT 'role', NEW.role, NULL, NOT EXISTS (
            SELECT 1 FROM ledger
            WHERE root = NEW.root AND role = NEW.role AND session <> NEW.session)
        UNION ALL
        SELECT 'model', NEW.model, NULL, NOT EXISTS (
            SELECT 1 FROM ledger
            WHERE root = NEW.root AND model IS NEW.model AND session <> NEW.session)
        UNION ALL
        SELECT 'day', CAST(NEW.booked / 86400000 AS TEXT), NULL, NOT EXISTS (
            SELECT 1 FROM ledger
            WHERE root = NEW.root AND booked / 86400000 = NEW.booked / 86400000
              AND session <> NEW.session)
    ) AS part
    WHERE TRUE
    ON CONFLICT (by, known, word) DO UPDATE SET
        runs = runs + excluded.runs,
        sessions = sessions + excluded.sessions,
        turns = turns + excluded.turns,
        input_tokens = input_tokens + excluded.input_tokens,
        output_tokens = output_tokens + excluded.output_tokens,
        cache_read_tokens = cache_read_tokens + excluded.cache_read_tokens,
        cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens,
        cost_nanos = cost_nanos + excluded.cost_nanos,
        cost_estimated = max(cost_estimated, excluded.cost_estimated);
END;

INSERT INTO spent (by, known, word, label, runs, sessions, turns, input_tokens, output_tokens,
    cache_read_tokens, cache_write_tokens, cost_nanos, cost_estimated)
SELECT part.by, part.word IS NOT NULL, coalesce(part.word, ''), max(part.label),
    count(DISTINCT part.root), count(*), sum(turns), sum(input_tokens), sum(output_tokens),
    sum(cache_read_tokens), sum(cache_write_tokens), sum(cost_nanos), max(cost_estimated)
FROM (
    SELECT 'run' AS by, ledger.root AS word, run.name AS label, ledger.*
    FROM ledger JOIN run ON run.id = ledger.root
    UNION ALL
    SELECT 'experiment', run.experiment, NULL, ledger.* FROM ledger JOIN run ON run.id = ledger.root
    UNION ALL SELECT 'role', role, NULL, ledger.* FROM ledger
    UNION ALL SELECT 'model', model, NULL, ledger.* FROM ledger
    UNION ALL SELECT 'day', CAST(booked / 86400000 AS TEXT), NULL, ledger.* FROM ledger
) AS part
GROUP BY part.by, part.word;
