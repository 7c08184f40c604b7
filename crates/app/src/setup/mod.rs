//! A project and its machine: settings, what is missing, the demonstration.

pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod settings;
