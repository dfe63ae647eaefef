//! How hub and extension prove themselves to each other, and how they come to share a key: the
//! arithmetic of `docs/protocols/extension.md`, without I/O, randomness or time.
//!
//! What is hashed is always text: nonces and public keys stand in it as they are sent, in base64url.

mod messages;

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use p256::elliptic_curve::sec1::ToEncodedPoint;
use p256::{PublicKey, SecretKey, ecdh};
use sha2::{Digest, Sha256};

pub use messages::{BrowserInfo, FromExtension, FromHub, Hello, Opening, RefusalCode};

/// The version of the relay protocol that this build speaks.
pub const PROTOCOL: u32 = 1;

/// 32 bytes in base64url: a nonce, a key, a proof.
pub fn encode(bytes: &[u8; 32]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn decode(text: &str) -> Option<[u8; 32]> {
    URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()
}

/// Whether this is a nonce: 32 bytes in base64url.
pub fn is_nonce(text: &str) -> bool {
    decode(text).is_some()
}

/// Whether this may name an installation of the extension.
pub fn is_instance(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
}

/// The id that Chromium gives to an extension whose manifest has this `key`: a public key, as DER.
pub fn extension_id(der: &[u8]) -> String {
    let letter = |digit: u8| char::from(b'a' + digit);
    let digest = Sha256::digest(der);
    digest.iter().take(16).flat_map(|byte| [letter(byte >> 4), letter(byte & 15)]).collect()
}

/// The id of the extension with this manifest; `None` if it names no key.
pub fn id_of_manifest(manifest: &[u8]) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Manifest {
        key: String,
    }
    let Manifest { key } = serde_json::from_slice(manifest).ok()?;
    let der = base64::engine::general_purpose::STANDARD.decode(key.trim()).ok()?;
    Some(extension_id(&der))
}

/// What a hub and one installation of the extension share.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; 32]);

impl Key {
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub fn parse(text: &str) -> Option<Self> {
        decode(text).map(Self)
    }

    /// The key itself, in base64url. A secret.
    pub fn reveal(&self) -> String {
        encode(&self.0)
    }

    /// How the hub shows that it has the key.
    pub fn hub_proof(&self, nonces: &Nonces<'_>) -> String {
        self.proof(&nonces.of_hub())
    }

    pub fn is_extension_proof(&self, nonces: &Nonces<'_>, proof: &str) -> bool {
        self.fits(&nonces.of_extension(), proof)
    }

    /// How the hub shows at the end of a pairing that it has the same key.
    pub fn hub_confirmation(&self, transcript: &Transcript) -> String {
        self.proof(&joined(&["bowline-confirm-hub-1", &transcript.0]))
    }

    pub fn is_extension_confirmation(&self, transcript: &Transcript, proof: &str) -> bool {
        self.fits(&joined(&["bowline-confirm-extension-1", &transcript.0]), proof)
    }

    fn proof(&self, text: &str) -> String {
        encode(&mac(&self.0, text).finalize().into_bytes().into())
    }

    /// Compared in constant time.
    fn fits(&self, text: &str, proof: &str) -> bool {
        decode(proof).is_some_and(|proof| mac(&self.0, text).verify_slice(&proof).is_ok())
    }
}

// A key in a log would be a secret in a log.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// What makes the proofs of one connection its own.
#[derive(Debug, Clone, Copy)]
pub struct Nonces<'a> {
    pub extension: &'a str,
    pub hub: &'a str,
    pub instance: &'a str,
    /// The one that was dialled. Whoever listens at another one and passes everything on to the hub
    /// passes on proofs that do not fit.
    pub port: u16,
}

impl Nonces<'_> {
    fn of_hub(&self) -> String {
        joined(&["bowline-hub-1", self.extension, self.hub, self.instance, &self.port.to_string()])
    }

    fn of_extension(&self) -> String {
        joined(&["bowline-extension-1", self.hub, self.extension, self.instance, &self.port.to_string()])
    }
}

/// The hub's half of a key exchange, made for one pairing.
pub struct KeyPair {
    secret: SecretKey,
    public: String,
}

impl KeyPair {
    /// `None` for the few byte strings that are no scalar of the curve: try others.
    pub fn from_random(bytes: &[u8; 32]) -> Option<Self> {
        let secret = SecretKey::from_slice(bytes).ok()?;
        let point = secret.public_key().to_encoded_point(false);
        Some(Self { public: URL_SAFE_NO_PAD.encode(point.as_bytes()), secret })
    }

    /// Uncompressed, in base64url.
    pub fn public(&self) -> &str {
        &self.public
    }

    /// The key that follows from the other side's public key. `None` if that is no point of the curve.
    pub fn agree(&self, transcript: &Transcript, public: &str) -> Option<Key> {
        let bytes = URL_SAFE_NO_PAD.decode(public).ok().filter(|bytes| bytes.len() == 65)?;
        let public = PublicKey::from_sec1_bytes(&bytes).ok()?;
        let secret = ecdh::diffie_hellman(self.secret.to_nonzero_scalar(), public.as_affine());
        let mac = mac(secret.raw_secret_bytes().as_ref(), &joined(&[&transcript.0, "key"]));
        Some(Key(mac.finalize().into_bytes().into()))
    }
}

/// What the hub commits to before it knows anything of the other side.
pub fn commitment(public: &str, nonce: &str) -> String {
    encode(&Sha256::digest(joined(&["bowline-commit-1", public, nonce])).into())
}

/// All that was said in a pairing. Both sides have the same, or they speak with somebody in between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript(String);

impl Transcript {
    pub fn new(
        hub_public: &str,
        hub_nonce: &str,
        extension_public: &str,
        extension_nonce: &str,
        instance: &str,
        port: u16,
    ) -> Self {
        let port = port.to_string();
        let parts =
            ["bowline-pair-1", hub_public, hub_nonce, extension_public, extension_nonce, instance, &port];
        Self(joined(&parts))
    }

    /// Six digits, for a person to compare.
    pub fn code(&self) -> String {
        let digest = Sha256::digest(&self.0);
        let number = u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]);
        format!("{:06}", number % 1_000_000)
    }
}

fn joined(parts: &[&str]) -> String {
    parts.join("\n")
}

fn mac(key: &[u8], text: &str) -> Hmac<Sha256> {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else {
        unreachable!("HMAC takes keys of every length")
    };
    mac.update(text.as_bytes());
    mac
}

#[cfg(test)]
mod tests;
