//! The history as a ranking needs it: which files each commit touched, by number.

use spore_model::Timestamp;

use super::history::CommitFiles;
use super::rows::FileNo;
use super::{CodeIndex, CodeIndexError};

/// A commit, without its message's body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PastCommit {
    pub no: u32,
    pub time: Timestamp,
    /// The first line of the message.
    pub subject: String,
    /// The files it touched that are still there.
    pub files: Vec<FileNo>,
    /// How many it touched in all.
    pub touched: u32,
}

impl CodeIndex {
    /// Returns the commits that were looked at, newest first.
    pub fn past(&self) -> Result<Vec<PastCommit>, CodeIndexError> {
        self.read(|connection| {
            let mut touched = CommitFiles::read(connection)?;
            let sql =
                "SELECT no, time, substr(message, 1, instr(message || char(10), char(10)) - 1)
                       FROM commits ORDER BY time DESC, id";
            connection
                .prepare_cached(sql)?
                .query_map([], |row| {
                    let paths = touched.of_next(row.get(0)?);
                    Ok(PastCommit {
                        no: row.get(0)?,
                        time: Timestamp::from_millis(row.get(1)?),
                        subject: row.get(2)?,
                        files: paths.iter().filter_map(|path| touched.number(path)).collect(),
                        touched: u32::try_from(paths.len()).unwrap_or(u32::MAX),
                    })
                })?
                .collect()
        })
    }
}
