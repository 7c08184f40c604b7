//! Rows as they are written: without any of the user's secrets.
//!
//! Each of these returns what it was given where there is nothing to strike, which is almost
//! always.

use std::borrow::Cow;

use serde_json::Value;
use spore_model::{Edge, Event, Node, Run};
use spore_secrets::KnownSecrets;
use spore_store::{RunChange, StepEntry};

pub(super) fn run<'r>(secrets: &KnownSecrets, run: &'r Run) -> Cow<'r, Run> {
    if secrets.is_empty() {
        return Cow::Borrowed(run);
    }
    let mut run = run.clone();
    strike_run(secrets, &mut run);
    Cow::Owned(run)
}

pub(super) fn runs<'r>(secrets: &KnownSecrets, runs: &'r [Run]) -> Cow<'r, [Run]> {
    all(secrets, runs, strike_run)
}

pub(super) fn change<'c>(secrets: &KnownSecrets, change: &'c RunChange) -> Cow<'c, RunChange> {
    if secrets.is_empty() {
        return Cow::Borrowed(change);
    }
    let mut change = change.clone();
    strike_change(secrets, &mut change);
    Cow::Owned(change)
}

pub(super) fn events<'e>(secrets: &KnownSecrets, events: &'e [Event]) -> Cow<'e, [Event]> {
    all(secrets, events, strike_event)
}

pub(super) fn entry<'e>(secrets: &KnownSecrets, entry: &'e StepEntry) -> Cow<'e, StepEntry> {
    if secrets.is_empty() {
        return Cow::Borrowed(entry);
    }
    let mut entry = entry.clone();
    secrets.strike_json(&mut entry.result);
    entry.runs.iter_mut().for_each(|(_, change)| strike_change(secrets, change));
    entry.new_runs.iter_mut().for_each(|run| strike_run(secrets, run));
    entry.events.iter_mut().for_each(|event| strike_event(secrets, event));
    Cow::Owned(entry)
}

pub(super) fn value<'v>(secrets: &KnownSecrets, value: &'v Value) -> Cow<'v, Value> {
    if secrets.is_empty() {
        return Cow::Borrowed(value);
    }
    let mut value = value.clone();
    secrets.strike_json(&mut value);
    Cow::Owned(value)
}

pub(super) fn nodes<'n>(secrets: &KnownSecrets, nodes: &'n [Node]) -> Cow<'n, [Node]> {
    all(secrets, nodes, |secrets, node| {
        secrets.strike_in(&mut node.title);
        secrets.strike_in(&mut node.content);
        secrets.strike_json(&mut node.metadata);
    })
}

pub(super) fn edges<'e>(secrets: &KnownSecrets, edges: &'e [Edge]) -> Cow<'e, [Edge]> {
    all(secrets, edges, |secrets, edge| {
        let texts = [&mut edge.reason, &mut edge.content];
        texts.into_iter().flatten().for_each(|text| secrets.strike_in(text));
        secrets.strike_json(&mut edge.metadata);
    })
}

fn all<'a, T: Clone>(
    secrets: &KnownSecrets,
    all: &'a [T],
    strike: impl Fn(&KnownSecrets, &mut T),
) -> Cow<'a, [T]> {
    if secrets.is_empty() {
        return Cow::Borrowed(all);
    }
    let mut all = all.to_vec();
    all.iter_mut().for_each(|one| strike(secrets, one));
    Cow::Owned(all)
}

fn strike_run(secrets: &KnownSecrets, run: &mut Run) {
    secrets.strike_in(&mut run.name);
    let texts = [&mut run.task, &mut run.reason, &mut run.experiment];
    texts.into_iter().flatten().for_each(|text| secrets.strike_in(text));
    secrets.strike_json(&mut run.settings);
}

fn strike_change(secrets: &KnownSecrets, change: &mut RunChange) {
    change.reason.iter_mut().for_each(|text| secrets.strike_in(text));
    change.settings.iter_mut().for_each(|settings| secrets.strike_json(settings));
}

fn strike_event(secrets: &KnownSecrets, event: &mut Event) {
    secrets.strike_in(&mut event.source.name);
    event.session_key.iter_mut().for_each(|key| secrets.strike_in(key));
    secrets.strike_json(&mut event.payload);
}
