//! One thing that was looked at: whether it is as it should be, and what to do where it is not.

use serde::Serialize;

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct DoctorFinding {
    pub name: String,
    pub ok: bool,
    /// Its version, or what is wrong.
    pub detail: String,
    /// What its absence costs, and what to do; empty where all is well.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub remedy: String,
    /// Whether nothing can be run without it.
    pub required: bool,
}

pub(super) fn finding(
    name: &str,
    ok: bool,
    detail: String,
    remedy: &str,
    required: bool,
) -> DoctorFinding {
    let remedy = if ok { String::new() } else { remedy.to_owned() };
    DoctorFinding { name: name.to_owned(), ok, detail, remedy, required }
}
