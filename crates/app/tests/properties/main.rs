//! The twelve correctness properties, each with random cases, against the real binary and a scripted
//! Chrome. One module per group; what they share is in `runner`, `hub`, `http`, `peer`, `stage` and `text`.

// A home of one's own is told by variables that other systems do not have.
#![cfg(unix)]

mod answers;
mod cleanup;
mod configuration;
mod console;
mod direct;
mod execute;
mod http;
mod hub;
mod memory;
mod network;
mod peer;
mod recovery;
mod runner;
mod sharing;
mod stage;
mod starting;
mod text;
