//! A ZIP archive of a few small files, as Firefox takes an extension: nothing is compressed, and the same files make the
//! same bytes.

/// The files by their paths.
pub(crate) fn archive<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Vec<u8> {
    let (mut archive, mut directory, mut count) = (Vec::new(), Vec::new(), 0_u16);
    for (name, content) in files {
        let place = archive.len() as u32;
        let described = described(name, content);
        archive.extend_from_slice(b"PK\x03\x04");
        archive.extend_from_slice(&described);
        archive.extend_from_slice(name.as_bytes());
        archive.extend_from_slice(content);
        // Who made it, and below what has no comment, one disk and no attributes.
        directory.extend_from_slice(b"PK\x01\x02\x14\x00");
        directory.extend_from_slice(&described);
        directory.extend_from_slice(&[0; 10]);
        directory.extend_from_slice(&place.to_le_bytes());
        directory.extend_from_slice(name.as_bytes());
        count += 1;
    }
    let (start, length) = (archive.len() as u32, directory.len() as u32);
    archive.append(&mut directory);
    archive.extend_from_slice(b"PK\x05\x06\x00\x00\x00\x00");
    for number in [count, count] {
        archive.extend_from_slice(&number.to_le_bytes());
    }
    for number in [length, start] {
        archive.extend_from_slice(&number.to_le_bytes());
    }
    archive.extend_from_slice(&[0; 2]);
    archive
}

/// What stands before a file and again in the directory.
fn described(name: &str, content: &[u8]) -> Vec<u8> {
    // Version 2.0; names are UTF-8; stored; the first of January 1980.
    let mut described = vec![20, 0, 0, 8, 0, 0, 0, 0, 33, 0];
    described.extend_from_slice(&checksum(content).to_le_bytes());
    for _ in ["compressed", "plain"] {
        described.extend_from_slice(&(content.len() as u32).to_le_bytes());
    }
    described.extend_from_slice(&(name.len() as u16).to_le_bytes());
    described.extend_from_slice(&[0; 2]);
    described
}

/// CRC-32, bit by bit: a few hundred kilobytes once per installation.
fn checksum(content: &[u8]) -> u32 {
    let step = |sum: u32, _| if sum & 1 == 1 { (sum >> 1) ^ 0xEDB8_8320 } else { sum >> 1 };
    !content.iter().fold(!0, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_format() {
        assert_eq!(checksum(b"123456789"), 0xCBF4_3926);
    }

    #[test]
    fn every_file_is_there_once_and_found_from_the_end() {
        let archive = archive([("manifest.json", &b"{}"[..]), ("popup/popup.js", b"1")]);
        let end = &archive[archive.len() - 22..];
        assert_eq!(&end[..4], b"PK\x05\x06");
        let number = |at: usize| u32::from_le_bytes(end[at..at + 4].try_into().unwrap()) as usize;
        assert_eq!((end[10], number(12) + number(16) + 22), (2, archive.len()));
        let directory = &archive[number(16)..];
        assert_eq!(&directory[..4], b"PK\x01\x02");
        assert_eq!(&directory[46..59], b"manifest.json");
    }
}
