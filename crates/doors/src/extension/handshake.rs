//! The handshake: both sides prove that they have the key, or come to one in a pairing.
//! `docs/protocols/extension.md` has its messages.

use std::time::Duration;

use bowline_hub::pairing::{NotNow, Outcome, Visit};
use bowline_hub::router::CloseReason;
use bowline_wire::pairing::{
    FromExtension, FromHub, Hello, Key, KeyPair, Nonces, Opening, PROTOCOL, RefusalCode, Transcript,
    commitment, encode, is_nonce,
};
use futures_util::{SinkExt, StreamExt};
use tokio::time::{Instant, interval_at, timeout};
use tokio_tungstenite::tungstenite::Message;

use super::pump::{PING, PING_EVERY, is_pong};
use super::seat;
use crate::control::Control;
use crate::pump;
use crate::upgrade::Socket;

/// How long each step may take; the last one of a pairing takes as long as the person thinks.
const STEP: Duration = Duration::from_secs(10);
/// How long a peer may take to read why it was turned away.
const GOODBYE: Duration = Duration::from_secs(2);
/// The closing code of every refusal.
const REFUSED: u16 = 4400;

/// An extension that has proved itself and was told so.
pub(super) struct Admitted {
    pub(super) name: String,
    pub(super) hello: Hello,
}

/// Why there is no connection.
#[derive(Debug)]
pub(super) enum Ended {
    Refused(Refusal),
    /// It said what nobody says here.
    Malformed(&'static str),
    Silent,
    Gone,
    HubLeaves,
    /// It is our fault.
    Failed(String),
}

#[derive(Debug)]
pub(super) struct Refusal {
    code: RefusalCode,
    message: String,
    hint: &'static str,
}

fn refusal(code: RefusalCode, message: impl Into<String>, hint: &'static str) -> Ended {
    Ended::Refused(Refusal { code, message: message.into(), hint })
}

/// `port` is the one that the extension has dialled.
pub(super) async fn run(
    control: &Control,
    socket: &mut Socket,
    instance: &str,
    port: u16,
) -> Result<Admitted, Ended> {
    let text = step(socket).await?;
    let opening = Opening::parse(&text).ok_or(Ended::Malformed("the first message is no hello"))?;
    if opening.protocol != PROTOCOL {
        return Err(other_protocol(control.hub.version(), &opening));
    }
    let Ok(FromExtension::Hello(mut hello)) = serde_json::from_str(&text) else {
        return Err(Ended::Malformed("the hello is incomplete"));
    };
    hello.browser = hello.browser.shortened();
    hello.version.truncate(hello.version.char_indices().nth(64).map_or(usize::MAX, |(end, _)| end));
    if hello.instance != instance || !is_nonce(&hello.nonce) {
        return Err(Ended::Malformed("the hello does not fit"));
    }
    let name = if hello.paired {
        challenge(control, socket, &hello, port).await?
    } else {
        pair(control, socket, &hello, port).await?
    };
    send(socket, &FromHub::Welcome { name: &name }).await?;
    Ok(Admitted { name, hello })
}

async fn challenge(
    control: &Control,
    socket: &mut Socket,
    hello: &Hello,
    port: u16,
) -> Result<String, Ended> {
    let Some((_, key)) = control.hub.pairings().key_of(&hello.instance) else {
        let message = "this hub has no key for this browser: it was forgotten, or paired with another hub";
        let hint = "run `bowline extension pair` and pair again in the popup";
        return Err(refusal(RefusalCode::UnknownInstance, message, hint));
    };
    let nonce = random()?;
    let nonces = Nonces { extension: &hello.nonce, hub: &nonce, instance: &hello.instance, port };
    let proof = key.hub_proof(&nonces);
    let version = control.hub.version();
    send(socket, &FromHub::Challenge { protocol: PROTOCOL, version, nonce: &nonce, proof: &proof }).await?;
    let FromExtension::Proof { proof } = next(socket).await? else {
        return Err(Ended::Malformed("a proof was expected"));
    };
    if !key.is_extension_proof(&nonces, &proof) {
        return Err(wrong_proof());
    }
    seat::of_paired(control, hello).await.map_err(Ended::Failed)
}

async fn pair(control: &Control, socket: &mut Socket, hello: &Hello, port: u16) -> Result<String, Ended> {
    let visit = control.hub.pairings().visit(&hello.instance, &hello.browser).map_err(|why| match why {
        NotNow::Closed => {
            let message = "this browser is not paired with the hub, and no pairing is open";
            refusal(RefusalCode::NotPaired, message, "run `bowline extension pair` in a terminal")
        }
        NotNow::Busy => {
            let message = "another browser is being paired at this moment";
            refusal(RefusalCode::PairingBusy, message, "finish that one first, or try again in a moment")
        }
    })?;
    let (ours, nonce) = (key_pair()?, random()?);
    let commitment = commitment(ours.public(), &nonce);
    send(socket, &FromHub::Commit { commitment: &commitment }).await?;
    let FromExtension::Pair { public_key, nonce: theirs } = next(socket).await? else {
        return Err(Ended::Malformed("a public key was expected"));
    };
    if !is_nonce(&theirs) {
        return Err(Ended::Malformed("the nonce is none"));
    }
    let transcript = Transcript::new(ours.public(), &nonce, &public_key, &theirs, &hello.instance, port);
    let key = ours.agree(&transcript, &public_key).ok_or(Ended::Malformed("the public key is none"))?;
    send(socket, &FromHub::Reveal { public_key: ours.public(), nonce: &nonce }).await?;
    visit.show(&transcript.code());
    both_say_yes(socket, &visit, &key, &transcript).await?;
    let failed = |message: String| {
        visit.fail(&message);
        Ended::Failed(message)
    };
    let name = seat::of_new(control, hello, visit.wanted()).await.map_err(failed)?;
    let proof = key.hub_confirmation(&transcript);
    let kept = visit.finish(&name, key, hello.browser.clone());
    kept.map_err(|error| failed(format!("the key could not be saved: {error}")))?;
    if let Err(error) = control.hub.write_state() {
        tracing::warn!(%error, "the state file could not be written");
    }
    send(socket, &FromHub::Paired { name: &name, proof: &proof }).await?;
    Ok(name)
}

/// The button in the popup and the answer in the terminal, in either order.
async fn both_say_yes(
    socket: &mut Socket,
    visit: &Visit,
    key: &Key,
    transcript: &Transcript,
) -> Result<(), Ended> {
    loop {
        let text = tokio::select! {
            settled = visit.settled() => return settled.map_err(not_paired),
            text = receive(socket) => text?,
        };
        let Ok(FromExtension::Confirm { proof }) = serde_json::from_str(&text) else {
            return Err(Ended::Malformed("a confirmation was expected"));
        };
        if !key.is_extension_confirmation(transcript, &proof) {
            visit.fail("the extension came to another key: something may sit between it and the hub");
            return Err(wrong_proof());
        }
        visit.confirmed();
    }
}

fn not_paired(outcome: Outcome) -> Ended {
    match outcome {
        Outcome::TimedOut => {
            let message = "the pairing took longer than it is open";
            refusal(RefusalCode::PairingTimeout, message, "run `bowline extension pair` again")
        }
        Outcome::Declined { .. } | Outcome::Paired { .. } => {
            let message = "the pairing was declined in the terminal";
            refusal(RefusalCode::PairingDeclined, message, "run `bowline extension pair` to try again")
        }
    }
}

fn wrong_proof() -> Ended {
    let message = "the proof is wrong: this browser has another key than the hub";
    refusal(RefusalCode::WrongProof, message, "run `bowline extension pair` and pair again in the popup")
}

fn other_protocol(version: &str, opening: &Opening) -> Ended {
    let (older, hint) = if opening.protocol > PROTOCOL {
        ("hub", "update bowline, then run `bowline shutdown`; the next command starts the new one")
    } else {
        (
            "extension",
            "run `bowline extension install` (`--firefox` for Firefox), then reload the extension in the browser",
        )
    };
    let message = format!(
        "the versions do not fit: the hub {version} speaks protocol {PROTOCOL}, the extension {} speaks protocol {}; the {older} is older",
        opening.version, opening.protocol
    );
    refusal(RefusalCode::ProtocolVersion, message, hint)
}

/// Says why, and waits a moment until the other side has read it.
pub(super) async fn turn_away(control: &Control, mut socket: Socket, instance: &str, ended: Ended) {
    let reason = match ended {
        Ended::Refused(Refusal { code, message, hint }) => {
            // It knocks again and again; the first time says all.
            if control.hub.pairings().refused(instance, code, &message) {
                tracing::info!(?code, "an extension was turned away: {message}");
            }
            // Whoever has gone need not be told.
            let _ = send(&mut socket, &FromHub::Refused { code, message: &message, hint }).await;
            CloseReason { code: REFUSED, text: message }
        }
        Ended::Malformed(what) => {
            tracing::info!("an extension was turned away: {what}");
            CloseReason { code: 1002, text: what.to_owned() }
        }
        Ended::Silent => CloseReason { code: 1008, text: "nothing came in time".to_owned() },
        Ended::Gone => return,
        Ended::HubLeaves => CloseReason::going_away("the hub is shutting down"),
        Ended::Failed(message) => {
            tracing::warn!("an extension could not be let in: {message}");
            CloseReason { code: 1011, text: message }
        }
    };
    let goodbye = async {
        let _ = socket.send(Message::Close(Some(pump::frame(&reason)))).await;
        while let Some(Ok(_)) = socket.next().await {}
    };
    let _ = timeout(GOODBYE, goodbye).await;
}

async fn next(socket: &mut Socket) -> Result<FromExtension, Ended> {
    let text = step(socket).await?;
    serde_json::from_str(&text).map_err(|_| Ended::Malformed("not a message of the handshake"))
}

async fn step(socket: &mut Socket) -> Result<String, Ended> {
    timeout(STEP, receive(socket)).await.unwrap_or(Err(Ended::Silent))
}

/// The next message that says something. While a person compares codes, pings keep Chrome from putting
/// the extension's worker to sleep; a pong is no step.
async fn receive(socket: &mut Socket) -> Result<String, Ended> {
    let mut pings = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
    loop {
        let message = tokio::select! {
            message = socket.next() => message,
            _ = pings.tick() => {
                socket.send(Message::text(PING)).await.map_err(|_| Ended::Gone)?;
                continue;
            }
        };
        match message {
            Some(Ok(Message::Text(text))) if is_pong(&text) => {}
            Some(Ok(Message::Text(text))) => return Ok(text.as_str().to_owned()),
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
            Some(Ok(Message::Binary(_))) => return Err(Ended::Malformed("binary messages are not spoken")),
            Some(Ok(Message::Close(_)) | Err(_)) | None => return Err(Ended::Gone),
        }
    }
}

async fn send(socket: &mut Socket, message: &FromHub<'_>) -> Result<(), Ended> {
    let sent = timeout(STEP, socket.send(Message::text(message.text()))).await;
    sent.map_err(|_| Ended::Silent)?.map_err(|_| Ended::Gone)
}

fn random_bytes() -> Result<[u8; 32], Ended> {
    bowline_hub::auth::random_bytes().map_err(|error| Ended::Failed(format!("no random numbers: {error}")))
}

fn random() -> Result<String, Ended> {
    random_bytes().map(|bytes| encode(&bytes))
}

fn key_pair() -> Result<KeyPair, Ended> {
    // All but one of 2^32 byte strings will do.
    loop {
        if let Some(pair) = KeyPair::from_random(&random_bytes()?) {
            return Ok(pair);
        }
    }
}
