//! The expected values were computed by Node's WebCrypto, as an extension computes them.

use super::*;

const INSTANCE: &str = "00112233445566778899aabbccddeeff";
const NONCE_H: &str = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVpbXF1eX2A";
const NONCE_P: &str = "YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXp7fH1-f4A";
const NONCE_E: &str = "gYKDhIWGh4iJiouMjY6PkJGSk5SVlpeYmZqbnJ2en6A";
const PUBLIC_H: &str =
    "BFFcPW6545a5BNP-yn9U_c0MwemXvzddylFa0KbDtANfRTa-OlDzGPv5pUdZAqIhUCvvDVfgjFOyzApW8X2fk1Q";
const PUBLIC_E: &str =
    "BB8UAUa_sbJR-E9N2-DUzc_Xev2YSpUg41eUAh-DErue7JlaCLH6dwTfPcwLUKlmUmP7dxH5X5-KRJxQluR8iSs";
const KEY: &str = "LA9n_8xJY-IXuwwJiLPjaKpGk_uHfrsvDho6WpuLoX8";

fn counted(from: u8) -> [u8; 32] {
    std::array::from_fn(|i| from + i as u8)
}

fn transcript() -> Transcript {
    Transcript::new(PUBLIC_H, NONCE_H, PUBLIC_E, NONCE_P, INSTANCE, 9223)
}

#[test]
fn both_sides_come_to_the_same_key_and_code() {
    let hub = KeyPair::from_random(&counted(1)).unwrap();
    let extension = KeyPair::from_random(&counted(33)).unwrap();
    assert_eq!((hub.public(), extension.public()), (PUBLIC_H, PUBLIC_E));
    assert_eq!(encode(&counted(65)), NONCE_H);
    assert_eq!(commitment(PUBLIC_H, NONCE_H), "XF4YnMEiV-IFmuJ8U17BkV-zFIid02qWiBTkVDMHiPo");
    assert_eq!(transcript().code(), "598381");
    let key = hub.agree(&transcript(), PUBLIC_E).unwrap();
    assert_eq!(key.reveal(), KEY);
    assert_eq!(extension.agree(&transcript(), PUBLIC_H), Some(key));
}

#[test]
fn proofs_are_those_of_the_other_side() {
    let key = Key::parse(KEY).unwrap();
    let nonces = Nonces { extension: NONCE_E, hub: NONCE_H, instance: INSTANCE, port: 9223 };
    let proof = "mexWNyxS6hXVnmGl1wJT7SeVPwS2UwjY-qKQKHwm5Xs";
    assert_eq!(key.hub_proof(&nonces), "5d9mt1TPZlsn0vWuahU_lJKHn9QOqwuU8F3g-wNb1HI");
    assert!(key.is_extension_proof(&nonces, proof));
    assert!(!key.is_extension_proof(&Nonces { hub: NONCE_P, ..nonces }, proof));
    assert!(!key.is_extension_proof(&Nonces { port: 9224, ..nonces }, proof), "passed on from another port");
    assert!(!key.is_extension_proof(&nonces, &key.hub_proof(&nonces)), "not its own proof, sent back");
    assert!(!Key::new(counted(0)).is_extension_proof(&nonces, proof));
    for bad in ["", "?", &proof[1..], &proof[..42]] {
        assert!(!key.is_extension_proof(&nonces, bad), "{bad}");
    }
    let confirmation = "zBihzY3YEH9Bg5j-IurHCoqfUBu2XrliAVGaLe-wReA";
    assert!(key.is_extension_confirmation(&transcript(), confirmation));
    assert_eq!(key.hub_confirmation(&transcript()), "OE8nR7tc8jN3XEag_zjIwkLsqhsQAk5yaS5it2GMvvM");
    assert!(!key.is_extension_confirmation(&transcript(), &key.hub_confirmation(&transcript())));
}

#[test]
fn somebody_in_between_is_seen_in_the_code() {
    let other = KeyPair::from_random(&counted(7)).unwrap();
    let seen_by_hub = Transcript::new(PUBLIC_H, NONCE_H, other.public(), NONCE_P, INSTANCE, 9223);
    let seen_by_extension = Transcript::new(other.public(), NONCE_H, PUBLIC_E, NONCE_P, INSTANCE, 9223);
    assert_ne!(seen_by_hub.code(), seen_by_extension.code());
    assert_ne!(commitment(PUBLIC_H, NONCE_H), commitment(other.public(), NONCE_H));
}

#[test]
fn what_is_no_public_key_makes_no_key() {
    let hub = KeyPair::from_random(&counted(1)).unwrap();
    let off_the_curve = URL_SAFE_NO_PAD.encode([&[4_u8][..], &[1; 64]].concat());
    let infinity = URL_SAFE_NO_PAD.encode([0_u8]);
    for bad in ["", "x", &off_the_curve, &infinity, &PUBLIC_E[1..]] {
        assert!(hub.agree(&transcript(), bad).is_none(), "{bad}");
    }
    assert!(KeyPair::from_random(&[0; 32]).is_none() && KeyPair::from_random(&[0xff; 32]).is_none());
}

#[test]
fn an_extension_has_the_id_that_chromium_gives_it() {
    // From Chromium's own tests of ids.
    assert_eq!(extension_id(b"test"), "jpignaibiiemhngfjkcpokkamffknabf");
    assert_eq!(id_of_manifest(br#"{"key":"dGVzdA=="}"#).as_deref(), Some("jpignaibiiemhngfjkcpokkamffknabf"));
    assert_eq!(id_of_manifest(b"{}"), None);
    assert!(is_instance(INSTANCE) && !is_instance("xy") && !is_instance(&INSTANCE.to_uppercase()));
}

#[test]
fn no_key_is_shown_by_accident() {
    assert_eq!(format!("{:?}", Key::new([7; 32])), "Key(..)");
}
