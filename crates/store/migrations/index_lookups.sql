-- Made when the rows are in: sorting once is cheaper than keeping order all the time.
CREATE UNIQUE INDEX files_by_path ON files (path);
CREATE INDEX files_by_import_name ON files (import_name);
CREATE UNIQUE INDEX nodes_by_id ON nodes (id);
CREATE INDEX nodes_by_name ON nodes (name);
CREATE INDEX nodes_by_file ON nodes (file, place);
CREATE INDEX nodes_by_parent ON nodes (parent, place);
CREATE INDEX edges_by_target ON edges (target, kind, source, confidence);
CREATE INDEX commit_files_by_commit ON commit_files (commit_no);
CREATE INDEX texts_by_hash ON texts (hash, node);
