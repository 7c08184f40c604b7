-- What reading of many runs at once goes by: how many bounces each had, and what its sessions cost.

CREATE INDEX run_bounces ON run (parent, attempt) WHERE kind = 'bounce';

-- Holds all that sums are made of, so that they are made without the table.
CREATE INDEX ledger_sums ON ledger (root, role, model, booked, turns, cost_nanos, cost_estimated,
    input_tokens, output_tokens, cache_read_tokens, cache_write_tokens);
