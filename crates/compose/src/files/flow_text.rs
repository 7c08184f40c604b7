//! Texts of a flow file that have holes, and what is said where one cannot be filled.

use spore_config::ConfigError;

use crate::files::flow_file::{FlowSection, PlacedValue, nearest};
use crate::files::mode::LayerMode;
use crate::wording::DataHole;
use crate::wording::template;

/// Which data a text may ask for.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum HoleData {
    None,
    Stages,
    Phases,
}

/// Reads a text with holes, and refuses a hole that is not among `holes` and asks for no data.
pub(crate) fn filled(
    section: &FlowSection<'_>,
    key: &str,
    holes: &[&str],
    data: HoleData,
) -> Result<Option<PlacedValue<String>>, ConfigError> {
    let Some(spot) = section.text(key)? else { return Ok(None) };
    let wrong = |problem: String| ConfigError::BadValue {
        place: spot.place.clone(),
        key: format!("{}.{key}", section.path),
        problem,
    };
    for hole in template::holes(&spot.value).filter(|hole| !holes.contains(hole)) {
        let problem = match (DataHole::read(hole), data) {
            (Some(Ok(DataHole::Stage { .. })), HoleData::Stages)
            | (Some(Ok(DataHole::Phase { .. })), HoleData::Phases) => continue,
            (Some(Err(problem)), _) => format!("is wrong: {problem}"),
            (Some(Ok(DataHole::Item {})), _) => {
                format!("has a hole {{{hole}}} that only a stage with `each` fills")
            }
            (Some(Ok(DataHole::Stage { .. })), _) => {
                format!("has a hole {{{hole}}}; only what a stage says of itself may have it")
            }
            (Some(Ok(DataHole::Phase { .. })), _) => {
                format!("has a hole {{{hole}}}; only the target of a phase may have it")
            }
            (None, _) => {
                let meant = nearest(hole, holes).map(|hole| format!("; did you mean {{{hole}}}?"));
                let meant = meant.unwrap_or_default();
                format!("has a hole {{{hole}}} that nothing fills{meant}")
            }
        };
        return Err(wrong(problem));
    }
    Ok(Some(spot))
}

pub(crate) fn needs(section: &FlowSection<'_>, what: &str) -> ConfigError {
    ConfigError::BadValue {
        place: section.place.clone(),
        key: section.path.clone(),
        problem: format!("needs {what}"),
    }
}

pub(crate) fn plain(spot: Option<PlacedValue<String>>) -> Option<String> {
    spot.map(|spot| spot.value)
}

/// Reads the name of a model, which says something where it is there.
pub(crate) fn read_model(section: &FlowSection<'_>) -> Result<Option<String>, ConfigError> {
    let Some(model) = section.text("model")? else { return Ok(None) };
    match model.value.trim().is_empty() {
        true => Err(wrong(&model, &format!("{}.model", section.path), "is empty")),
        false => Ok(Some(model.value)),
    }
}

/// A script of that name, wherever it is, is the executor or orchestrator that it runs.
pub(crate) fn without_ending(name: PlacedValue<String>) -> PlacedValue<String> {
    let stem = |script: &str| Some(script.rsplit('/').next()?.to_owned());
    let value = name.value.strip_suffix(".py").and_then(stem).unwrap_or(name.value);
    PlacedValue { value, ..name }
}

/// Refuses a word that is not among those there are.
pub(crate) fn known(
    spot: &PlacedValue<String>,
    key: &str,
    kind: &str,
    there: &[&str],
) -> Result<(), ConfigError> {
    if there.contains(&spot.value.as_str()) {
        return Ok(());
    }
    let meant = nearest(&spot.value, there).map(|name| format!("; did you mean {name}?"));
    let problem = format!("there is no {kind} {:?}{}", spot.value, meant.unwrap_or_default());
    Err(wrong(spot, key, &format!("is wrong: {problem}")))
}

pub(crate) fn wrong(spot: &PlacedValue<String>, key: &str, problem: &str) -> ConfigError {
    ConfigError::BadValue {
        place: spot.place.clone(),
        key: key.to_owned(),
        problem: problem.to_owned(),
    }
}

/// Reads who leads a layer.
pub(crate) fn read_mode(section: &FlowSection<'_>) -> Result<LayerMode, ConfigError> {
    let Some(mode) = section.text("mode")? else { return Ok(LayerMode::Tool) };
    known(&mode, &format!("{}.mode", section.path), "mode", &LayerMode::WORDS)?;
    Ok(LayerMode::named(&mode.value).unwrap_or_default())
}
