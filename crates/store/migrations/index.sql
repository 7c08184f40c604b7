-- The code index. Derived from the tree: a file of another version is made anew, so there is
-- one text and no way from the old one.

CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value
) WITHOUT ROWID;

-- A file's number is that of its node.
CREATE TABLE files (
  no            INTEGER PRIMARY KEY,
  path          TEXT NOT NULL,
  language      TEXT NOT NULL,
  package       TEXT,
  import_name   TEXT NOT NULL,
  size          INTEGER NOT NULL,
  mtime_ns      INTEGER NOT NULL,
  inode         INTEGER NOT NULL,
  blob          BLOB NOT NULL,
  lines         INTEGER NOT NULL,
  marks         INTEGER NOT NULL,
  syntax_errors INTEGER NOT NULL
);

-- Apart from the files: whoever looks for changes reads all of those, and none of these.
CREATE TABLE facts (
  file  INTEGER PRIMARY KEY,
  facts BLOB NOT NULL
);

-- The names that a file uses, as sorted hashes of four bytes.
CREATE TABLE mentions (
  file  INTEGER PRIMARY KEY,
  names BLOB NOT NULL
);

-- Directories, files and items. The parent is what holds a node; from it follow the edges
-- contains, belongs_to, defined_in and sibling, which are not kept.
CREATE TABLE nodes (
  no         INTEGER PRIMARY KEY,
  id         BLOB NOT NULL,
  kind       TEXT NOT NULL,
  file       INTEGER,
  place      INTEGER NOT NULL,
  parent     INTEGER,
  name       TEXT NOT NULL,
  qualified  TEXT NOT NULL,
  first_line INTEGER NOT NULL,
  last_line  INTEGER NOT NULL,
  first_byte INTEGER NOT NULL,
  end_byte   INTEGER NOT NULL,
  signature  TEXT NOT NULL,
  doc        TEXT NOT NULL,
  visibility INTEGER NOT NULL,
  hash       INTEGER NOT NULL
);

-- Confidence in thousandths.
CREATE TABLE edges (
  source     INTEGER NOT NULL,
  kind       INTEGER NOT NULL,
  target     INTEGER NOT NULL,
  confidence INTEGER NOT NULL,
  PRIMARY KEY (source, kind, target)
) WITHOUT ROWID;

-- Files that were looked at and left out, so that they are not read again.
CREATE TABLE skipped (
  path     TEXT PRIMARY KEY,
  reason   TEXT NOT NULL,
  size     INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL,
  inode    INTEGER NOT NULL,
  blob     BLOB NOT NULL
) WITHOUT ROWID;

-- What files and skipped say about what changed, in one row; see known.rs.
CREATE TABLE known (
  no    INTEGER PRIMARY KEY,
  bytes BLOB NOT NULL
);

CREATE TABLE commits (
  no      INTEGER PRIMARY KEY,
  id      TEXT NOT NULL,
  time    INTEGER NOT NULL,
  message TEXT NOT NULL
);

CREATE TABLE commit_files (
  path      TEXT NOT NULL,
  commit_no INTEGER NOT NULL,
  PRIMARY KEY (path, commit_no)
) WITHOUT ROWID;

-- What files were called before and after a commit.
CREATE TABLE commit_renames (
  commit_no INTEGER NOT NULL,
  old       TEXT NOT NULL,
  new       TEXT NOT NULL,
  PRIMARY KEY (commit_no, old)
) WITHOUT ROWID;

-- Ids that are gone, and what they became.
CREATE TABLE renames (
  old   BLOB PRIMARY KEY,
  new   BLOB NOT NULL,
  kind  TEXT NOT NULL,
  title TEXT NOT NULL
) WITHOUT ROWID;

-- The words of the tree and of its history; see words.rs.
CREATE TABLE segments (
  words INTEGER NOT NULL,
  no    INTEGER NOT NULL,
  head  BLOB NOT NULL,
  PRIMARY KEY (words, no)
) WITHOUT ROWID;

CREATE TABLE segment_documents (
  words    INTEGER NOT NULL,
  document INTEGER NOT NULL,
  segment  INTEGER NOT NULL,
  PRIMARY KEY (words, document)
) WITHOUT ROWID;

CREATE TABLE postings (
  words   INTEGER NOT NULL,
  term    TEXT NOT NULL,
  segment INTEGER NOT NULL,
  list    BLOB NOT NULL,
  PRIMARY KEY (words, term, segment)
) WITHOUT ROWID;

-- Which text says what a node means, by its hash; see texts.rs.
CREATE TABLE texts (
  node INTEGER PRIMARY KEY,
  hash BLOB NOT NULL
);
