//! Reads tensors out of a safetensors file: a length, a JSON table, then plain numbers.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::EmbedError;
use crate::mapping::Mapping;

/// A mapped file and its table.
pub(crate) struct Tensors {
    path: PathBuf,
    file: Mapping,
    table: Value,
    data: usize,
}

impl Tensors {
    pub(crate) fn open(path: &Path) -> Result<Self, EmbedError> {
        let file = Mapping::open(path).map_err(|source| EmbedError::of_file(path, source))?;
        let damaged = || EmbedError::Damaged {
            path: path.to_owned(),
            what: "its table of tensors cannot be read".to_owned(),
        };
        let (length, rest) = file.bytes().split_first_chunk::<8>().ok_or_else(damaged)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| damaged())?;
        let table = rest.get(..length).ok_or_else(damaged)?;
        let table = serde_json::from_slice(table).map_err(|_| damaged())?;
        Ok(Self { path: path.to_owned(), data: 8 + length, table, file })
    }

    /// Returns where a tensor of 32-bit numbers of this shape lies in the file.
    pub(crate) fn range(
        &self,
        name: &str,
        shape: &[usize],
    ) -> Result<std::ops::Range<usize>, EmbedError> {
        let wrong = |what: &str| EmbedError::Damaged {
            path: self.path.clone(),
            what: format!("tensor {name} {what}"),
        };
        let entry = self.table.get(name).ok_or_else(|| wrong("is missing"))?;
        if entry["dtype"] != "F32" || entry["shape"] != serde_json::json!(shape) {
            return Err(wrong(&format!("is not 32-bit numbers of shape {shape:?}")));
        }
        let offset = |at: usize| {
            let offset = usize::try_from(entry["data_offsets"][at].as_u64()?).ok()?;
            self.data.checked_add(offset)
        };
        let (start, end) = offset(0).zip(offset(1)).ok_or_else(|| wrong("has no place"))?;
        let size = shape.iter().product::<usize>() * 4;
        if end.checked_sub(start) != Some(size) || end > self.file.bytes().len() {
            return Err(wrong("does not lie within the file"));
        }
        Ok(start..end)
    }

    /// Gives back the memory of what was copied out.
    pub(crate) fn let_go(&self) {
        self.file.let_go();
    }

    /// Copies a tensor out.
    pub(crate) fn read(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, EmbedError> {
        let range = self.range(name, shape)?;
        let mut numbers = vec![0.0; range.len() / 4];
        self.copy(range.start, &mut numbers);
        Ok(numbers)
    }

    /// Copies numbers that start at a place within a range returned above.
    pub(crate) fn copy(&self, start: usize, into: &mut [f32]) {
        let bytes = &self.file.bytes()[start..start + into.len() * 4];
        for (number, bytes) in into.iter_mut().zip(bytes.as_chunks::<4>().0) {
            *number = f32::from_le_bytes(*bytes);
        }
    }
}
