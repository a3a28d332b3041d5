//! External data representation (RFC 4506): words of four bytes, the highest byte first.

/// Fewer bytes than were looked for, or a length that nobody believes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Short;

/// Writes at the end of a vector, which is kept from one message to the next.
pub(super) trait Write {
    fn word(&mut self, word: u32);
    fn words(&mut self, words: &[u32]);
    fn long(&mut self, long: u64);
    /// Bytes of a length that both sides know.
    fn fixed(&mut self, bytes: &[u8]);
    /// Bytes after their length.
    fn opaque(&mut self, bytes: &[u8]);
}

impl Write for Vec<u8> {
    fn word(&mut self, word: u32) {
        self.extend(word.to_be_bytes());
    }

    fn words(&mut self, words: &[u32]) {
        for word in words {
            self.word(*word);
        }
    }

    fn long(&mut self, long: u64) {
        self.extend(long.to_be_bytes());
    }

    fn fixed(&mut self, bytes: &[u8]) {
        self.extend(bytes);
        self.extend(&[0; 3][..padding(bytes.len())]);
    }

    fn opaque(&mut self, bytes: &[u8]) {
        self.word(u32::try_from(bytes.len()).expect("what is sent is short"));
        self.fixed(bytes);
    }
}

/// Zeroes after so many bytes.
pub(super) fn padding(bytes: usize) -> usize {
    bytes.next_multiple_of(4) - bytes
}

/// Reads from the front.
#[derive(Debug, Clone, Copy)]
pub(super) struct Read<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Read<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// How much has been read.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn take<const BYTES: usize>(&mut self) -> Result<[u8; BYTES], Short> {
        let taken = self.bytes.get(self.at..self.at + BYTES).ok_or(Short)?;
        self.at += BYTES;
        Ok(taken.try_into().expect("it is so long"))
    }

    pub(super) fn word(&mut self) -> Result<u32, Short> {
        self.take().map(u32::from_be_bytes)
    }

    pub(super) fn long(&mut self) -> Result<u64, Short> {
        self.take().map(u64::from_be_bytes)
    }

    pub(super) fn is_true(&mut self) -> Result<bool, Short> {
        Ok(self.word()? != 0)
    }

    /// Bytes after their length, which is at most this.
    pub(super) fn opaque(&mut self, bytes_max: usize) -> Result<&'a [u8], Short> {
        let bytes = self.word()? as usize;
        if bytes > bytes_max {
            return Err(Short);
        }
        let taken = self.bytes.get(self.at..self.at + bytes).ok_or(Short)?;
        self.skip(bytes.next_multiple_of(4))?;
        Ok(taken)
    }

    pub(super) fn skip(&mut self, bytes: usize) -> Result<(), Short> {
        let end = self.at + bytes;
        if end > self.bytes.len() {
            return Err(Short);
        }
        self.at = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let mut bytes = Vec::new();
        bytes.word(7);
        bytes.opaque(b"abcde");
        bytes.long(1 << 40);
        assert_eq!(bytes.len(), 4 + 4 + 8 + 8);
        let mut read = Read::new(&bytes);
        assert_eq!((read.word(), read.opaque(5)), (Ok(7), Ok(&b"abcde"[..])));
        assert_eq!((read.long(), read.word()), (Ok(1 << 40), Err(Short)));
    }

    #[test]
    fn lengths_beyond_what_is_there_are_short() {
        let bytes = [0xFF; 8];
        assert_eq!(Read::new(&bytes).opaque(usize::MAX), Err(Short));
        assert_eq!(Read::new(&bytes).opaque(64), Err(Short));
        assert_eq!(Read::new(&[0, 0, 0, 1, 9]).opaque(64), Err(Short));
    }
}
