//! Memory: what events prove about the lines that every agent is told.
//!
//! A repository has one broadcast file, `memory/CLAUDE.md`, that task files carry. Each line
//! of it is a claim about how to work here. This crate tests the claims: events of the spine
//! become fragments, each about one line; fragments are folded into a ledger; and only what
//! the ledger proves may change the file.
//!
//! The one decision: rules decide what letters can decide, and nothing else. An event that
//! touches a line without settling anything about it is listed as pending for a judge, never
//! guessed at. So everything here is a pure function of texts and events: no model, no files,
//! no clock. Where the files are and how they are written is for `app`.

pub mod cues;
pub mod decision;
pub mod dossier;
pub mod edit;
pub mod evidence;
pub mod fragment;
pub mod gate;
pub mod inbox;
pub mod judging;
pub mod known;
pub mod ledger;
pub mod lines;
pub mod markers;
pub mod pending;
pub mod proposing;
pub mod reading;
pub mod rules;
pub mod scan;
pub mod signals;
pub mod trial;
