//! Reads one file, once: its hash, its kind, its lines.
//!
//! Everything that is to be known of a file's content is taken from one read of it. A file
//! over the limit is not read whole: its size, its time and its two ends stand for it, and
//! its lines are not counted. What is no regular file is never opened.

use std::fs::File as Opened;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use encoding_rs_io::DecodeReaderBytesBuilder;
use spore_model::Timestamp;
use tokei::{CodeStats, Config, LanguageType};

use crate::category::{Category, is_generated, sniff};
use crate::hash::Hash;
use crate::walk::{FoundKind, reason};

/// How much of each end of a file over the limit is looked at.
const SAMPLE: usize = 64 * 1024;
/// How much of a file is looked at to say what it is.
const HEAD: usize = 512;

/// What a name in a directory stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ScannedKind {
    Regular,
    /// Over the limit: not read whole, not counted.
    Sampled,
    Link,
    Special,
    Unreadable(String),
}

impl ScannedKind {
    pub(crate) fn tag(&self) -> u8 {
        match self {
            Self::Regular => b'f',
            Self::Sampled => b'p',
            Self::Link => b'l',
            Self::Special => b's',
            Self::Unreadable(_) => b'u',
        }
    }

    pub const fn is_file(&self) -> bool {
        matches!(self, Self::Regular | Self::Sampled | Self::Unreadable(_))
    }
}

/// What was seen of one file.
#[derive(Clone, Debug)]
pub(crate) struct FileReading {
    pub(crate) kind: ScannedKind,
    pub(crate) hash: Hash,
    pub(crate) size: u64,
    pub(crate) disk: u64,
    pub(crate) modified: Timestamp,
    /// Device and inode, where other names lead to the same content.
    pub(crate) shared: Option<(u64, u64)>,
    pub(crate) category: Category,
    pub(crate) language: Option<LanguageType>,
    pub(crate) stats: CodeStats,
    pub(crate) generated: bool,
    /// What the content looks like, where the name says nothing.
    pub(crate) description: Option<&'static str>,
}

/// What all readings have in common.
pub(crate) struct FileReader<'a> {
    pub(crate) root: &'a Path,
    pub(crate) whole_bytes: u64,
    pub(crate) counting: &'a Config,
}

impl FileReader<'_> {
    /// Reads what is at `path`, with `buffer` as the place for it.
    pub(crate) fn read(&self, path: &Path, found: FoundKind, buffer: &mut Vec<u8>) -> FileReading {
        let whole = self.root.join(path);
        let read = match found {
            FoundKind::File => self.read_file(&whole, buffer),
            FoundKind::Link => read_link(&whole),
            FoundKind::Special => at_a_glance(&whole, ScannedKind::Special, &[]),
        };
        read.unwrap_or_else(|error| {
            let kind = ScannedKind::Unreadable(reason(&error));
            at_a_glance(&whole, kind, &[]).unwrap_or_else(|_| FileReading::nothing(&error))
        })
    }

    fn read_file(&self, path: &Path, buffer: &mut Vec<u8>) -> io::Result<FileReading> {
        // Since the walk the name may have become a pipe, whose `open` would block.
        let mut file = Opened::options()
            .read(true)
            .custom_flags(nix::libc::O_NONBLOCK | nix::libc::O_NOCTTY | nix::libc::O_NOFOLLOW)
            .open(path)?;
        let data = file.metadata()?;
        if !data.is_file() {
            return at_a_glance(path, ScannedKind::Special, &[]);
        }
        buffer.clear();
        if data.len() > self.whole_bytes {
            return self.sample(path, &file, &data, buffer);
        }
        let most = self.whole_bytes.saturating_add(1);
        file.by_ref().take(most).read_to_end(buffer)?;
        let mut reading = FileReading::of(ScannedKind::Regular, Hash::of_content(buffer), &data);
        reading.say(path, buffer);
        reading.language = LanguageType::from_path(path, self.counting);
        if let Some(language) = reading.language {
            reading.count(language, buffer, self.counting);
        }
        Ok(reading)
    }

    fn sample(
        &self,
        path: &Path,
        file: &Opened,
        data: &std::fs::Metadata,
        buffer: &mut Vec<u8>,
    ) -> io::Result<FileReading> {
        buffer.resize(2 * SAMPLE, 0);
        let (head, tail) = buffer.split_at_mut(SAMPLE);
        let got = file.read_at(head, 0)?;
        let from = data.len().saturating_sub(tail.len() as u64);
        let ended = file.read_at(tail, from)?;
        let numbers = [data.len().to_le_bytes(), data.mtime().to_le_bytes()].concat();
        let nanos = data.mtime_nsec().to_le_bytes();
        let parts: [&[u8]; 4] = [&numbers, &nanos, &head[..got], &tail[..ended]];
        let mut reading =
            FileReading::of(ScannedKind::Sampled, Hash::of_parts("sampled", &parts), data);
        reading.say(path, &buffer[..got]);
        Ok(reading)
    }
}

fn read_link(path: &Path) -> io::Result<FileReading> {
    let target = std::fs::read_link(path)?;
    at_a_glance(path, ScannedKind::Link, target.as_os_str().as_bytes())
}

/// Looks at a name without opening what it stands for.
fn at_a_glance(path: &Path, kind: ScannedKind, content: &[u8]) -> io::Result<FileReading> {
    let data = path.symlink_metadata()?;
    let size = data.len().to_le_bytes();
    let hash = match &kind {
        ScannedKind::Link => Hash::of_parts("link", &[content]),
        ScannedKind::Special => Hash::of_parts("special", &[&data.rdev().to_le_bytes()]),
        // The size and time of an unreadable file still show that it changed.
        _ => Hash::of_parts("unreadable", &[&size, &data.mtime().to_le_bytes()]),
    };
    Ok(FileReading::of(kind, hash, &data))
}

impl FileReading {
    fn of(kind: ScannedKind, hash: Hash, data: &std::fs::Metadata) -> Self {
        let millis =
            data.mtime().saturating_mul(1000).saturating_add(data.mtime_nsec() / 1_000_000);
        Self {
            hash,
            size: if kind == ScannedKind::Special { 0 } else { data.len() },
            kind,
            disk: data.blocks().saturating_mul(512),
            modified: Timestamp::from_millis(millis),
            shared: (data.nlink() > 1).then(|| (data.dev(), data.ino())),
            category: Category::Unknown,
            language: None,
            stats: CodeStats::new(),
            generated: false,
            description: None,
        }
    }

    /// A file that was removed or became unreadable after the walk listed it.
    fn nothing(error: &io::Error) -> Self {
        Self {
            kind: ScannedKind::Unreadable(reason(error)),
            hash: Hash::of_parts("unreadable", &[]),
            size: 0,
            disk: 0,
            modified: Timestamp::from_millis(0),
            shared: None,
            category: Category::Unknown,
            language: None,
            stats: CodeStats::new(),
            generated: false,
            description: None,
        }
    }

    /// Says what kind of file it is.
    fn say(&mut self, path: &Path, content: &[u8]) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let head = &content[..content.len().min(HEAD)];
        match Category::of_name(&name) {
            Some(category) => self.category = category,
            None => {
                let (category, what) = sniff(head);
                (self.category, self.description) = (category, Some(what));
            }
        }
        self.generated = self.category <= Category::Data && is_generated(&name, content);
    }

    fn count(&mut self, language: LanguageType, content: &[u8], config: &Config) {
        // A file that tokei has a language for is source, where the name says nothing else.
        if self.description.is_some() {
            self.category = Category::Source;
        }
        self.stats = match decoded(content) {
            Some(text) => language.parse_from_slice(text, config),
            None => language.parse_from_slice(content, config),
        };
    }

    /// All its lines, those in other languages included.
    pub(crate) fn lines(&self) -> u32 {
        u32::try_from(self.stats.summarise().lines()).unwrap_or(u32::MAX)
    }
}

/// Returns a text that begins with a byte order mark as the counter wants to see it.
fn decoded(content: &[u8]) -> Option<Vec<u8>> {
    const MARKS: [&[u8]; 3] = [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"];
    if !MARKS.iter().any(|mark| content.starts_with(mark)) {
        return None;
    }
    let mut text = Vec::with_capacity(content.len());
    DecodeReaderBytesBuilder::new().build(content).read_to_end(&mut text).ok()?;
    Some(text)
}
