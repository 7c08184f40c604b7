-- As before, and tasks that are parts of lists and flows with the roots: a rate of verified tasks is one of
-- all tasks, whoever asked for them.

DROP INDEX run_figures;
CREATE INDEX run_figures ON run (started, id, parent, trace, kind, name, task, attempt, depth, role,
    backend, model, state, outcome, park, mark, reason, base_commit, tree_hash, ended, turns,
    input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost_nanos, cost_estimated,
    experiment) WHERE parent IS NULL OR kind = 'orchestrate';
