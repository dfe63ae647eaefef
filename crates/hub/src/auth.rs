//! The token: 32 random bytes that every door asks for, compared in constant time.

use std::io;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;

use crate::files;

#[derive(Clone)]
pub struct Token(String);

impl Token {
    pub fn generate() -> io::Result<Self> {
        Ok(Self(URL_SAFE_NO_PAD.encode(random_bytes()?)))
    }

    /// Reads the token of earlier runs, so that URLs that contain it stay valid, or makes the first one.
    pub fn load_or_create(path: &Path) -> io::Result<Self> {
        if let Some(text) = files::read_private(path)? {
            let text = text.trim();
            if URL_SAFE_NO_PAD.decode(text).is_ok_and(|bytes| bytes.len() == 32) {
                return Ok(Self(text.to_owned()));
            }
        }
        let token = Self::generate()?;
        files::write_private(path, token.0.as_bytes())?;
        Ok(token)
    }

    pub fn matches(&self, candidate: &str) -> bool {
        self.0.as_bytes().ct_eq(candidate.as_bytes()).into()
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Bytes that nobody can guess.
pub fn random_bytes() -> io::Result<[u8; 32]> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes)
}

// A token in a log would be a secret in a log.
impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_kept_and_matches_only_itself() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        let first = Token::load_or_create(&path).unwrap();
        let second = Token::load_or_create(&path).unwrap();
        assert!(first.matches(second.as_str()));
        assert!(!first.matches("") && !first.matches(&first.as_str()[1..]));
        assert_eq!(format!("{first:?}"), "Token(..)");
    }

    #[test]
    fn a_damaged_token_file_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        files::write_private(&path, b"short").unwrap();
        assert_eq!(Token::load_or_create(&path).unwrap().as_str().len(), 43);
    }
}
