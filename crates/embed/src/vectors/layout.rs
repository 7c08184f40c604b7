//! Where things lie in the file: a page of header, then blocks of [`BLOCK_ROWS`] rows.
//!
//! A block has all its keys, then all scales, then the upper plane, then the lower, so that
//! the search reads one long run of bytes. All numbers are little-endian.

use super::Key;
use crate::{DIMENSIONS, MODEL_NAME, Vector};

pub(super) const BLOCK_ROWS: u32 = 1024;

const MAGIC: &[u8; 16] = b"spore vectors 1\n";
/// Where the header has the number of rows.
pub(super) const ROWS_AT: u64 = 24;

const HEADER: u64 = 4096;
const ROWS: u64 = BLOCK_ROWS as u64;
const SCALES: u64 = ROWS * 16;
const UPPER: u64 = SCALES + ROWS * 4;
const LOWER: u64 = UPPER + ROWS * DIMENSIONS as u64;
const BLOCK: u64 = LOWER + ROWS * DIMENSIONS as u64;

/// What the first page says: what this is, of which model, and how many rows count.
pub(super) struct VectorsHeader {
    pub(super) rows: u32,
}

impl VectorsHeader {
    pub(super) fn with_rows(rows: u32) -> Self {
        Self { rows }
    }

    /// The whole page. Its one part that changes is eight bytes within one sector.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend((DIMENSIONS as u64).to_le_bytes());
        bytes.extend(u64::from(self.rows).to_le_bytes());
        bytes.extend(MODEL_NAME.as_bytes());
        bytes.resize(HEADER as usize, 0);
        bytes
    }

    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        let page = bytes.get(..HEADER as usize).ok_or("it is too short")?;
        if page[..16] != MAGIC[..] {
            return Err("it is no such file, or of another version".to_owned());
        }
        let number = |at: usize| {
            let mut number = [0; 8];
            number.copy_from_slice(&page[at..at + 8]);
            u64::from_le_bytes(number)
        };
        let name = page[32..].split(|byte| *byte == 0).next().unwrap_or_default();
        if number(16) != DIMENSIONS as u64 || name != MODEL_NAME.as_bytes() {
            let name = String::from_utf8_lossy(name);
            return Err(format!("they are of {name}, {} numbers each", number(16)));
        }
        let rows =
            u32::try_from(number(ROWS_AT as usize)).map_err(|_| "it says it has too many rows")?;
        Ok(Self { rows })
    }
}

/// Returns how long a file with this many rows is.
pub(super) fn file_size(rows: u32) -> u64 {
    HEADER + u64::from(rows.div_ceil(BLOCK_ROWS)) * BLOCK
}

/// Returns how many rows lie in whole blocks of a file of this length.
pub(super) fn whole_rows(size: u64) -> u32 {
    let blocks = size.saturating_sub(HEADER) / BLOCK;
    u32::try_from(blocks * ROWS).unwrap_or(u32::MAX)
}

fn place(row: u32, part: u64, width: u64) -> u64 {
    let (block, within) = (u64::from(row / BLOCK_ROWS), u64::from(row % BLOCK_ROWS));
    HEADER + block * BLOCK + part + within * width
}

fn at<const N: usize>(bytes: &[u8], place: u64) -> &[u8; N] {
    let place = place as usize;
    // The file is long enough for every row that counts, see `whole_rows`.
    &bytes[place..place + N].as_chunks().0[0]
}

pub(super) fn key(bytes: &[u8], row: u32) -> Key {
    Key(u128::from_le_bytes(*at(bytes, place(row, 0, 16))))
}

fn scale(bytes: &[u8], row: u32) -> f32 {
    f32::from_le_bytes(*at(bytes, place(row, SCALES, 4)))
}

fn upper(bytes: &[u8], row: u32) -> &[u8; DIMENSIONS] {
    at(bytes, place(row, UPPER, DIMENSIONS as u64))
}

/// Returns the upper plane of rows that lie in one block.
pub(super) fn upper_plane(bytes: &[u8], first: u32, rows: usize) -> &[[u8; DIMENSIONS]] {
    let start = place(first, UPPER, DIMENSIONS as u64) as usize;
    bytes[start..start + rows * DIMENSIONS].as_chunks().0
}

/// Returns the scales of rows that lie in one block.
pub(super) fn scales(bytes: &[u8], first: u32, rows: usize) -> &[[u8; 4]] {
    let start = place(first, SCALES, 4) as usize;
    bytes[start..start + rows * 4].as_chunks().0
}

fn lower(bytes: &[u8], row: u32) -> &[u8; DIMENSIONS] {
    at(bytes, place(row, LOWER, DIMENSIONS as u64))
}

pub(super) fn vector(bytes: &[u8], row: u32) -> Vector {
    Quantised::at(bytes, row).vector()
}

/// A vector as it is kept: `scale * (256 * upper + lower)`, both planes signed.
pub(super) struct Quantised {
    scale: f32,
    upper: [u8; DIMENSIONS],
    lower: [u8; DIMENSIONS],
}

impl Quantised {
    pub(super) fn of(vector: &Vector) -> Self {
        // The largest number becomes 127 * 256, so that rounding to the upper plane stays in it.
        let largest = vector.iter().fold(0.0_f32, |most, number| most.max(number.abs()));
        let scale = largest.max(f32::MIN_POSITIVE * 65536.0) / 32512.0;
        let mut made = Self { scale, upper: [0; DIMENSIONS], lower: [0; DIMENSIONS] };
        for (place, number) in vector.iter().enumerate() {
            let whole = (number / scale).round() as i32;
            let upper = (whole + 128) >> 8;
            made.upper[place] = upper as i8 as u8;
            made.lower[place] = (whole - (upper << 8)) as i8 as u8;
        }
        made
    }

    pub(super) fn at(bytes: &[u8], row: u32) -> Self {
        let (upper, lower) = (*upper(bytes, row), *lower(bytes, row));
        Self { scale: scale(bytes, row), upper, lower }
    }

    fn vector(&self) -> Vector {
        std::array::from_fn(|place| {
            let whole =
                i32::from(self.upper[place] as i8) * 256 + i32::from(self.lower[place] as i8);
            whole as f32 * self.scale
        })
    }
}

/// Returns the bytes to write for rows that lie in one block, and where.
pub(super) fn pieces(first: u32, rows: &[(Key, Quantised)]) -> [(u64, Vec<u8>); 4] {
    let width = DIMENSIONS as u64;
    [
        (place(first, 0, 16), rows.iter().flat_map(|(key, _)| key.0.to_le_bytes()).collect()),
        (
            place(first, SCALES, 4),
            rows.iter().flat_map(|(_, row)| row.scale.to_le_bytes()).collect(),
        ),
        (place(first, UPPER, width), rows.iter().flat_map(|(_, row)| row.upper).collect()),
        (place(first, LOWER, width), rows.iter().flat_map(|(_, row)| row.lower).collect()),
    ]
}
