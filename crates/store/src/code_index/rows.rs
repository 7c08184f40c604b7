//! What goes in and comes out, in plain words.

use spore_model::{EdgeKind, NodeId};

/// The number of a node, of this file and as long as its hash lives.
pub type NodeNo = u32;
/// The number of a file, which is that of its node.
pub type FileNo = NodeNo;

/// A node's hash, as kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct NodeKey(pub [u8; 16]);

impl NodeKey {
    /// Returns the hash of an id; `None` for one that is not ours.
    pub fn of(id: &NodeId) -> Option<Self> {
        let text = id.as_str();
        if text.len() != 32 {
            return None;
        }
        let mut bytes = [0; 16];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(bytes))
    }

    pub fn id(self) -> NodeId {
        use std::fmt::Write;
        let mut text = String::with_capacity(32);
        for byte in self.0 {
            let _ = write!(text, "{byte:02x}");
        }
        NodeId::new(text).unwrap_or_else(|_| NodeId::from_parts(0, 0))
    }
}

/// What tells a changed file from an unchanged one without reading it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FileStamp {
    pub size: u64,
    /// Zero: not to be trusted.
    pub mtime_ns: i64,
    pub inode: u64,
}

/// What is special about a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FileMarks {
    pub generated: bool,
    pub vendored: bool,
    pub test: bool,
}

impl FileMarks {
    pub(super) fn number(self) -> i64 {
        i64::from(self.generated) | i64::from(self.vendored) << 1 | i64::from(self.test) << 2
    }

    pub(super) fn of(number: i64) -> Self {
        Self { generated: number & 1 != 0, vendored: number & 2 != 0, test: number & 4 != 0 }
    }
}

/// A file to keep.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileRow {
    pub key: NodeKey,
    pub path: String,
    /// Empty for plain text.
    pub language: String,
    pub package: Option<String>,
    /// The name that imports know it by.
    pub import_name: String,
    pub stamp: FileStamp,
    /// The id that git gives its content.
    pub blob: Vec<u8>,
    pub lines: u32,
    pub marks: FileMarks,
    /// What it says about itself at its top.
    pub doc: String,
    pub syntax_errors: u32,
    /// What it refers to and imports, in the indexer's own encoding.
    pub facts: Vec<u8>,
    /// Hashes of the names that `facts` would have to be looked at again for, sorted.
    pub mentions: Vec<u32>,
}

/// How far a definition can be seen. The numbers are kept.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum StoredVisibility {
    Public = 0,
    Restricted = 1,
    Private = 2,
}

impl StoredVisibility {
    pub(super) fn of(number: i64) -> Self {
        match number {
            0 => Self::Public,
            1 => Self::Restricted,
            _ => Self::Private,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Restricted => "restricted",
            Self::Private => "private",
        }
    }
}

/// An item to keep. Its place is where it is in its file's list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ItemRow {
    pub key: NodeKey,
    pub kind: &'static str,
    pub name: String,
    pub qualified: String,
    /// The place of the item that holds it.
    pub parent: Option<u32>,
    pub lines: (u32, u32),
    pub bytes: (u32, u32),
    pub signature: String,
    pub doc: String,
    pub visibility: StoredVisibility,
    /// Of its text.
    pub hash: u64,
}

/// As much of a file as it takes to see whether it changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KnownFile {
    pub no: FileNo,
    pub path: String,
    pub language: String,
    pub stamp: FileStamp,
    pub blob: Vec<u8>,
}

/// A file that was left out, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SkippedFile {
    pub path: String,
    pub reason: String,
    pub stamp: FileStamp,
    pub blob: Vec<u8>,
}

/// A file of the index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredFile {
    pub no: FileNo,
    pub path: String,
    pub language: String,
    pub package: Option<String>,
    pub size: u64,
    pub lines: u32,
    pub marks: FileMarks,
    pub syntax_errors: u32,
    pub blob: Vec<u8>,
}

/// An item of the index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredItem {
    pub no: NodeNo,
    pub key: NodeKey,
    pub kind: String,
    pub name: String,
    pub qualified: String,
    /// The file, or the item that holds it.
    pub parent: NodeNo,
    pub lines: (u32, u32),
    pub bytes: (u32, u32),
    pub signature: String,
    pub doc: String,
    pub visibility: StoredVisibility,
    pub hash: u64,
}

/// An edge to keep, of one of the kinds that are kept.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StoredEdge {
    pub source: NodeNo,
    pub kind: EdgeKind,
    pub target: NodeNo,
    /// In thousandths.
    pub confidence: u16,
}
