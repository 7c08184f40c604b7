//! Whether the file is as SQLite left it.

use super::SqliteJournal;
use crate::journal::JournalError;

impl SqliteJournal {
    /// Looks for damage and returns what was found: a sentence for each, a few at the most.
    /// Reads the whole file.
    pub fn damage(&self) -> Result<Vec<String>, JournalError> {
        self.read(|connection| {
            let mut check = connection.prepare("PRAGMA quick_check(3)")?;
            let said: Vec<String> =
                check.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
            Ok(said.into_iter().filter(|line| line != "ok").collect())
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn a_page_that_somebody_wrote_over_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("spore.db");
        drop(SqliteJournal::open(&path).unwrap());
        assert_eq!(SqliteJournal::open(&path).unwrap().damage().unwrap(), [] as [String; 0]);
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        let last = file.metadata().unwrap().len() - 4096;
        file.write_all_at(&[0xff; 4096], last).unwrap();
        // It may be met as early as the file is opened.
        let damage = SqliteJournal::open(&path).ok().map(|journal| journal.damage().ok());
        assert!(!damage.flatten().is_some_and(|found| found.is_empty()));
    }
}
