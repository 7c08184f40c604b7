-- What figures of many runs are made of, kept together: the rows themselves lie between those of all
-- their sessions, and reading past these is most of what a sum over thousands of runs takes.

CREATE INDEX run_figures ON run (started, id, parent, trace, kind, name, task, attempt, depth, role,
    backend, model, state, outcome, park, mark, reason, base_commit, tree_hash, ended, turns,
    input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost_nanos, cost_estimated,
    experiment) WHERE parent IS NULL;

CREATE INDEX run_open ON run (started, id) WHERE mark IS NULL AND state <> 'ended';

DROP INDEX run_bounces;
CREATE INDEX run_bounces ON run (parent, attempt, started, settings) WHERE kind = 'bounce';

-- As `ledger_sums`, for the sums of the last days: these need not pass by everything older.
CREATE INDEX ledger_recent ON ledger (booked, root, role, model, turns, cost_nanos, cost_estimated,
    input_tokens, output_tokens, cache_read_tokens, cache_write_tokens);
