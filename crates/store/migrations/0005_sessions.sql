-- How long each paid session took, and how it failed where it did.

ALTER TABLE ledger ADD COLUMN duration_ms INTEGER;
ALTER TABLE ledger ADD COLUMN failure TEXT;

UPDATE ledger SET duration_ms =
    (SELECT max(run.ended - run.started, 0) FROM run WHERE run.id = ledger.session);
