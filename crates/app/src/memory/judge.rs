//! `spore memory judge`: has a model read the events that no rule could decide.
//!
//! The events are read from the spine again and put down as the run's plan, with what else their
//! sessions show. Each batch is one session and one step. What a judge proposes is weighed by
//! `spore_memory::judging`; what holds becomes fragments, and every touch that was asked about is
//! kept as judged, so that it is paid for once.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spore_memory::cues::DossierPointer;
use spore_memory::evidence::Decider;
use spore_memory::inbox::Terminal;
use spore_memory::judging::{
    AROUND, CaseGround, JudgeAnswer, JudgeCase, JudgeProposal, JudgedTouch, ReadEvent,
    SessionEvent, judge_prompt, weigh, word_of,
};
use spore_memory::pending::Touch;
use spore_model::{Fault, StepKey, Usd};
use spore_store::spine::{Cursor, Flaw, Spine, SpineProblem};
use spore_tools::memory::submit_judgements;

use super::asking::{AskSettings, AskedModel, MemoryQuestion, ModelAsker};
use super::passes::{Pass, PassEnding, Report};
use super::places::MemoryPlaces;
use super::requests::{JudgeSettings, PassSettings};
use super::scan::{CarriedLines, told_to_sessions};
use crate::base::error::bug;
use crate::knowledge::ledger::told_map;
use crate::session::within::refuse_within;
use crate::{Error, Progress, Result, Surroundings, Workspace, counted};

/// The outcome of a judgement.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MemoryJudged {
    #[serde(flatten)]
    pub ending: PassEnding,
    /// How many touches a judge was asked about, and what it said about how many.
    pub asked: u32,
    pub answers: BTreeMap<String, u32>,
    /// Proposals that were refused, each with the reason.
    pub refused: Vec<RefusedTouch>,
    /// Proposals about what was not asked.
    pub stray: u32,
    /// The fragments that were written, by path.
    pub fragments: Vec<String>,
    /// What still waits for a judge.
    pub left: u64,
    pub sessions: u32,
    pub cost_usd: Usd,
    /// Why not all were asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
}

/// A proposal that changed nothing.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RefusedTouch {
    pub event: String,
    pub reason: String,
}

impl Report for MemoryJudged {
    fn ending(&mut self) -> &mut PassEnding {
        &mut self.ending
    }

    fn told(&self) -> (&'static str, Value) {
        let payload = json!({
            "terminal": self.ending.terminal,
            "asked": self.asked,
            "answers": self.answers,
            "fragments": self.fragments.len(),
        });
        ("memory.judged", payload)
    }
}

/// The cases of a judgement, as they were when it began.
#[derive(Serialize, Deserialize)]
struct JudgePlan {
    batches: Vec<Vec<JudgeCase>>,
    /// Touches whose event or line is gone.
    gone: Vec<JudgedTouch>,
}

/// The outcome of one batch.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct BatchJudged {
    proposals: Vec<JudgeProposal>,
}

/// Asks a judge about what waits, as far as the budget goes. Without a model all of it stays.
pub fn judge_memory(
    around: &Surroundings,
    asked: &AskedModel,
    progress: &mut dyn Progress,
) -> Result<MemoryJudged> {
    let workspace = Workspace::find(around)?;
    workspace.check_initialised()?;
    let mut config = workspace.config(around, &[])?;
    refuse_within(around, &workspace.journal(&config)?, "have memory judged")?;
    let places = MemoryPlaces::of(&workspace);
    let waiting = waiting(&places, config.memory.pending_per_line)?.len();
    if waiting == 0 {
        return Ok(nothing_done("nothing waits for a judge.", 0));
    }
    let ask = match AskSettings::find(around, &mut config, asked, progress)? {
        Ok(ask) => ask,
        Err(why) => {
            let count = counted(u32::try_from(waiting).unwrap_or(u32::MAX), "event");
            return Ok(nothing_done(&format!("{why}, so {count} wait for review."), waiting));
        }
    };
    let settings = JudgeSettings { ask };
    let tagged = PassSettings::Judge(settings.clone());
    let pass = Pass::begin(around, &workspace, &config, "memory judge", &tagged)?;
    perform(&pass, &settings, progress)
}

fn nothing_done(why: &str, left: usize) -> MemoryJudged {
    MemoryJudged {
        ending: PassEnding {
            run: None,
            terminal: Terminal::NoOp,
            result: format!("{}: {why}", Terminal::NoOp),
            acked: None,
            pending_task: None,
        },
        asked: 0,
        answers: BTreeMap::new(),
        refused: Vec::new(),
        stray: 0,
        fragments: Vec::new(),
        left: left as u64,
        sessions: 0,
        cost_usd: Usd::ZERO,
        stopped: None,
    }
}

/// What waits and was not judged: those of lines first, each oldest first.
pub(super) fn waiting(places: &MemoryPlaces, per_line: u32) -> Result<Vec<Touch>> {
    let mut pending = places.read_pending(per_line as usize)?;
    pending.settle(places.judged()?.keys());
    let (mut of_lines, others): (Vec<Touch>, Vec<Touch>) =
        pending.touches().cloned().partition(|touch| touch.line.is_some());
    of_lines.extend(others);
    Ok(of_lines)
}

pub(super) fn perform(
    pass: &Pass<'_>,
    settings: &JudgeSettings,
    progress: &mut dyn Progress,
) -> Result<MemoryJudged> {
    pass.perform(None, None, || {
        let plan_file = pass.files().file("plan.json");
        let _: u64 = pass.step("read", || {
            let plan = plan(pass)?;
            let text = serde_json::to_string(&plan).map_err(bug)?;
            pass.around.write_file(&plan_file, text.as_bytes())?;
            Ok(plan.batches.len() as u64)
        })?;
        let text = pass.places.read(&plan_file)?.unwrap_or_default();
        let plan: JudgePlan = serde_json::from_str(&text).map_err(|source| {
            Error::new(
                Fault::BadInput,
                format!("the plan of the judgement is gone: {}", spore_plain::path(&plan_file)),
            )
            .hint("nothing is lost: `spore memory judge` reads the events again")
            .because(source)
        })?;
        let (judged, stopped) = ask_all(pass, settings, &plan, progress)?;
        conclude(pass, plan, judged, stopped)
    })
}

/// The batches that were answered, with who answered.
type BatchAnswers = Vec<(usize, Vec<JudgeProposal>, Decider)>;

fn ask_all(
    pass: &Pass<'_>,
    settings: &JudgeSettings,
    plan: &JudgePlan,
    progress: &mut dyn Progress,
) -> Result<(BatchAnswers, Option<String>)> {
    let mut judged = BatchAnswers::new();
    let mut stopped = None;
    if plan.batches.is_empty() {
        return Ok((judged, stopped));
    }
    let asker = ModelAsker::open(pass, &settings.ask)?;
    for (at, cases) in plan.batches.iter().enumerate() {
        let number = u32::try_from(at).unwrap_or(u32::MAX);
        let question = MemoryQuestion {
            role: "judge",
            place: format!("judge/{number}"),
            prompt: judge_prompt(cases),
            tool: submit_judgements(),
        };
        let key = StepKey::numbered("judge", number);
        let Some(answered) = asker.ask(&key, question, read_answer, progress)? else {
            stopped = Some(format!("its budget of {} is spent", settings.ask.budget));
            break;
        };
        if answered.stopped.is_some() {
            stopped = answered.stopped;
            break;
        }
        let proposals = answered.answer.map(|batch| batch.proposals).unwrap_or_default();
        judged.push((at, proposals, answered.by));
    }
    Ok((judged, stopped))
}

/// One that cannot be read says nothing; its case is unanswered then.
fn read_answer(value: Value) -> BatchJudged {
    let proposals = value["judgements"].as_array().map_or(&[][..], Vec::as_slice);
    let read = |one: &Value| serde_json::from_value::<JudgeProposal>(one.clone()).ok();
    BatchJudged { proposals: proposals.iter().filter_map(read).collect() }
}

/// Weighs what was said, writes what holds, and keeps what was asked about.
fn conclude(
    pass: &Pass<'_>,
    plan: JudgePlan,
    judged: BatchAnswers,
    stopped: Option<String>,
) -> Result<MemoryJudged> {
    let map = told_map(pass.workspace, pass.config)?;
    let ledger = pass.places.ledger()?;
    let recalled = told_to_sessions(pass, &map, &ledger)?;
    let mut touches = plan.gone;
    let (mut fragments, mut stray, mut asked) = (Vec::new(), 0_u32, 0_u32);
    for (at, proposals, by) in judged {
        let cases = &plan.batches[at];
        let weighed = weigh(cases, &proposals, &recalled, &by);
        asked += u32::try_from(cases.len()).unwrap_or(u32::MAX);
        stray = stray.saturating_add(weighed.stray);
        touches.extend(weighed.touches);
        fragments.extend(weighed.fragments);
    }
    let left: u64 = pass.step("write", || {
        for fragment in &fragments {
            let path = pass.places.fragments().join(fragment.name());
            if !path.exists() {
                pass.around.write_file(&path, fragment.render().as_bytes())?;
            }
        }
        let mut kept = pass.places.judged()?;
        touches.iter().for_each(|touch| kept.add(touch));
        pass.around.write_if_changed(&pass.places.judged_file(), kept.render().as_bytes())?;
        let per_line = pass.config.memory.pending_per_line as usize;
        let mut pending = pass.places.read_pending(per_line)?;
        pending.settle(kept.keys());
        pass.around.write_if_changed(&pass.places.pending(), pending.render().as_bytes())?;
        Ok(pending.len() as u64 + pending.older())
    })?;
    let mut answers: BTreeMap<String, u32> = BTreeMap::new();
    let mut refused = Vec::new();
    for touch in &touches {
        *answers.entry(word_of(&touch.answer).to_owned()).or_default() += 1;
        if let JudgeAnswer::Refused(reason) = &touch.answer {
            refused.push(RefusedTouch { event: touch.event.clone(), reason: reason.to_string() });
        }
    }
    let ledger = pass.journal().ledger(pass.run)?;
    let names = fragments.iter().map(|one| format!("memory/fragments/{}", one.name())).collect();
    let (terminal, result) = ending(fragments.len(), asked, stopped.as_deref());
    Ok(MemoryJudged {
        ending: PassEnding {
            run: Some(pass.run),
            terminal,
            result,
            acked: None,
            pending_task: None,
        },
        asked,
        answers,
        refused,
        stray,
        fragments: names,
        left,
        sessions: u32::try_from(ledger.len()).unwrap_or(u32::MAX),
        cost_usd: ledger.iter().map(|one| one.cost.usd).sum(),
        stopped,
    })
}

fn ending(fragments: usize, asked: u32, stopped: Option<&str>) -> (Terminal, String) {
    let written = counted(u32::try_from(fragments).unwrap_or(u32::MAX), "fragment");
    let read = counted(asked, "event");
    let terminal = match (stopped, fragments) {
        (Some(_), _) => Terminal::PartialUpdate,
        (None, 0) => Terminal::NoOp,
        (None, _) => Terminal::Updated,
    };
    let why = stopped.map(|why| format!(" {why}.")).unwrap_or_default();
    (terminal, format!("{terminal}: {read} read, {written} written.{why}"))
}

/// Reads the events of what waits, and what else their sessions have.
fn plan(pass: &Pass<'_>) -> Result<JudgePlan> {
    let rules = &pass.config.memory;
    let mut touches = waiting(&pass.places, rules.pending_per_line)?;
    touches.truncate(rules.judge_most as usize);
    let map = told_map(pass.workspace, pass.config)?;
    let memory = pass.places.path("memory");
    let has_dossier = |pointer: &DossierPointer| memory.join(pointer.dossier()).exists();
    let carried = CarriedLines::new(pass.workspace);
    let ground =
        CaseGround { map: &map, has_dossier: &has_dossier, carried: &|run| carried.of(run) };
    let mut read: BTreeMap<Option<String>, PlacedEvents> = BTreeMap::new();
    let places: BTreeSet<Option<String>> = touches.iter().map(|one| one.events.clone()).collect();
    for events in places {
        let dir = events.as_ref().map_or_else(|| pass.workspace.events_dir(), PathBuf::from);
        let there = touches.iter().filter(|touch| touch.events == events);
        read.insert(events.clone(), read_events(pass, dir, there)?);
    }
    let mut cases = Vec::new();
    let mut gone = Vec::new();
    for touch in touches {
        let place = (touch.at.partition.clone(), touch.at.offset);
        let found = read.get(&touch.events).and_then(|there| there.get(&place));
        let case =
            found.and_then(|(event, around)| JudgeCase::of(&touch, event, around.clone(), &ground));
        match case {
            Some(case) => cases.push(case),
            None => gone.push(JudgedTouch {
                event: touch.event,
                line: touch.line,
                answer: JudgeAnswer::Gone,
                by: Decider::Rule,
            }),
        }
    }
    let batches = cases.chunks(rules.judge_batch as usize).map(<[JudgeCase]>::to_vec).collect();
    Ok(JudgePlan { batches, gone })
}

type PlacedEvents = BTreeMap<(String, u64), (ReadEvent, Vec<SessionEvent>)>;

/// How many events behind the last one that is asked about are looked at for its session.
const LOOKED_AHEAD: u64 = 20_000;

/// Reads the spine once, from the first partition that has one of the events.
fn read_events<'t>(
    pass: &Pass<'_>,
    dir: PathBuf,
    touches: impl Iterator<Item = &'t Touch>,
) -> Result<PlacedEvents> {
    let mut wanted: BTreeMap<(String, u64), ()> = BTreeMap::new();
    for touch in touches {
        wanted.insert((touch.at.partition.clone(), touch.at.offset), ());
    }
    let Some(((first, _), ())) = wanted.first_key_value() else { return Ok(BTreeMap::new()) };
    let start = Cursor { partition: first.clone(), offset: 0 };
    let mut found: PlacedEvents = BTreeMap::new();
    let mut before: BTreeMap<String, VecDeque<SessionEvent>> = BTreeMap::new();
    let mut open: BTreeMap<String, Vec<(String, u64)>> = BTreeMap::new();
    let mut since: u64 = 0;
    let mut reader = Spine::new(dir).read_from(&start);
    loop {
        if since.is_multiple_of(1024) && pass.around.interrupt.is_raised() {
            return Err(Error::interrupted("the reading of events was interrupted"));
        }
        let next = reader.next_with(&mut |at, line| {
            Some(Ok(((at.partition.clone(), at.offset), ReadEvent::of(line))))
        });
        let (place, event) = match next {
            None => break,
            Some(Ok(read)) => read,
            Some(Err(SpineProblem { what: Flaw::Unreadable(error), .. })) => {
                return Err(
                    Error::new(Fault::Io, error.to_string()).hint("make the event files readable")
                );
            }
            Some(Err(_)) => continue,
        };
        since += 1;
        let Some(event) = event else { continue };
        if let Some(session) = &event.session_key {
            for asked in open.get(session).into_iter().flatten() {
                let Some((_, around)) = found.get_mut(asked) else { continue };
                if around.iter().filter(|one| one.after).count() < AROUND {
                    around.push(SessionEvent::of(&event, true));
                }
            }
        }
        if wanted.remove(&place).is_some() {
            since = 0;
            let session = event.session_key.clone();
            let around = session.as_ref().and_then(|session| before.get(session));
            let around = around.into_iter().flatten().cloned().collect();
            open.entry(session.unwrap_or_default()).or_default().push(place.clone());
            found.insert(place, (event.clone(), around));
        }
        if let Some(session) = &event.session_key {
            let kept = before.entry(session.clone()).or_default();
            kept.push_back(SessionEvent::of(&event, false));
            if kept.len() > AROUND {
                kept.pop_front();
            }
        }
        if wanted.is_empty() && since > LOOKED_AHEAD {
            break;
        }
    }
    Ok(found)
}
