//! The token that opens the MCP server over HTTP.

use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use spore_effects::files::create_private_dir;
use spore_model::Fault;

use crate::{Error, Result, Surroundings, Workspace};

/// A token, and where it is kept.
pub struct HttpToken {
    pub token: String,
    pub file: PathBuf,
    /// It was made just now, so the user has not seen it yet.
    pub is_new: bool,
}

/// What is shorter is no token; what is longer is some other file of the user's.
const LENGTHS: std::ops::RangeInclusive<usize> = 16..=256;

/// Reads the project's token, or makes one. Only its owner can read it, or it is refused.
pub fn http_token(around: &Surroundings) -> Result<HttpToken> {
    let workspace = Workspace::find(around)?;
    let file = workspace.state().join("mcp-token");
    let failed = |source| Error::io(format!("cannot read {}", spore_plain::path(&file)), source);
    match read(&file) {
        Ok(Some(token)) => Ok(HttpToken { token, file, is_new: false }),
        Ok(None) => {
            Err(Error::new(Fault::BadInput, format!("{} is no token", spore_plain::path(&file)))
                .hint(
                    "only its owner may read it, and it holds one word; remove it to get a new one",
                ))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => make(around, file),
        Err(error) => Err(failed(error)),
    }
}

/// Nothing where the file is not fit to be believed.
fn read(file: &Path) -> io::Result<Option<String>> {
    let opened = std::fs::File::open(file)?;
    let found = opened.metadata()?;
    let is_private = found.is_file() && found.permissions().mode() & 0o077 == 0;
    let mut text = String::new();
    opened.take(1024).read_to_string(&mut text)?;
    let token = text.trim();
    let is_word = LENGTHS.contains(&token.len()) && token.bytes().all(|b| b.is_ascii_graphic());
    Ok((is_private && is_word).then(|| token.to_owned()))
}

fn make(around: &Surroundings, file: PathBuf) -> Result<HttpToken> {
    let token = around.ids.session_token().as_str().to_owned();
    let parent = file.parent().unwrap_or(Path::new("."));
    let written = create_private_dir(parent).and_then(|()| {
        let mut options = std::fs::OpenOptions::new();
        let mut made = options.write(true).create_new(true).mode(0o600).open(&file)?;
        made.write_all(format!("{token}\n").as_bytes())?;
        made.sync_all()
    });
    match written {
        Ok(()) => Ok(HttpToken { token, file, is_new: true }),
        // Another process made the file first: its token counts.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => http_token(around),
        Err(error) => Err(Error::io(format!("cannot write {}", spore_plain::path(&file)), error)),
    }
}
