//! The policy of a run as a state machine. Never blocks, never fails, never looks at a clock.

use spore_model::propagation::{Action, AttemptsLeft, Layer, decide};
use spore_model::{Fault, Finding, Outcome, Park, ProofLevel, Ruling, TreeId, Verdict};

use crate::{
    Conclusion, Done, Evidence, GateSummary, Machine, SessionSummary, Shortfall, Step,
    WrittenTests, read_verdict, settle_verdict,
};

/// What the person and the configuration decided beforehand.
#[derive(Clone, PartialEq, Debug)]
pub struct BounceRules {
    pub max_bounces: u32,
    pub min_confidence: f64,
    pub phrase_confidence: f64,
    /// How often a verifier session is started before the run waits for a person.
    pub verifier_attempts: u32,
    /// How far the checks of a change must go.
    pub require: ProofLevel,
    /// Whether a project whose gates fail at the base may be worked on.
    pub allow_red: bool,
    /// Whether mending what fails there is the task.
    pub fix_red: bool,
    /// Whether a tester writes tests before the coder begins, which the coder never sees.
    pub hold_out: bool,
    /// Whether a decided run is summed up by one more session.
    pub summarize: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Next {
    Do(Step),
    Park { outcome: Outcome, park: Park, reason: String },
    End(Conclusion),
}

/// One task on its way through its bounces.
#[derive(Clone, Debug)]
pub struct Bounce {
    rules: BounceRules,
    base_tree: Option<TreeId>,
    /// The tree under judgement, and the coder's end that led to it.
    tree: Option<TreeId>,
    coder: Option<SessionSummary>,
    /// A tree that a gate or a verifier has turned down: handing it in again is no change.
    rejected_tree: Option<TreeId>,
    evidence: Option<Evidence>,
    /// What the base's own checks say, where mending that is the task.
    first_evidence: Option<Evidence>,
    /// The last bounce that was closed.
    bounce: u32,
}

/// A verifier's session: its report, whether it left the files alone, and its verdict.
struct JudgedSession<'a> {
    session: &'a SessionSummary,
    intact: bool,
    nonce: &'a str,
    submitted: &'a Option<Verdict>,
}

impl Machine for Bounce {
    fn start(&self) -> Next {
        Next::Do(Step::Prepare)
    }

    fn apply(&mut self, step: &Step, done: &Done) -> Next {
        match (step, done) {
            (_, Done::Stopped { park, reason }) => park_for(*park, reason),
            (Step::Prepare, Done::Prepared { tree, .. }) => {
                self.base_tree = Some(tree.clone());
                Next::Do(Step::Baseline)
            }
            (Step::Commit { tree, .. }, Done::Committed { commit }) => {
                let conclusion = Conclusion {
                    commit: Some(commit.clone()),
                    tree: Some(tree.clone()),
                    ..conclusion(Outcome::Success, "verified")
                };
                Next::Do(Step::Apply { commit: commit.clone(), conclusion })
            }
            (Step::Apply { conclusion, .. }, Done::Applied { .. }) => {
                self.wind_up(conclusion.clone())
            }
            (Step::Escalate { reason, .. }, Done::Escalated) => {
                self.wind_up(conclusion(Outcome::NeedsEscalation, reason))
            }
            (Step::Summarize { conclusion, .. }, Done::Summarized { .. }) => {
                finish(conclusion.clone())
            }
            (Step::Finish { conclusion }, Done::Finished) => Next::End(conclusion.clone()),
            (step, done) => self.within(step, done),
        }
    }
}

impl Bounce {
    pub fn new(rules: BounceRules) -> Self {
        Self {
            rules,
            base_tree: None,
            tree: None,
            coder: None,
            rejected_tree: None,
            evidence: None,
            first_evidence: None,
            bounce: 0,
        }
    }

    /// Begins to judge a tree that no coder handed in.
    pub(crate) fn judge(&mut self, tree: &TreeId) -> Next {
        self.tree = Some(tree.clone());
        Next::Do(Step::Gates { bounce: 1, tree: tree.clone() })
    }

    /// Returns why the last tree was turned down.
    pub(crate) fn turned_down(&self) -> Option<&Evidence> {
        self.evidence.as_ref()
    }

    /// What follows a step of a bounce.
    fn within(&mut self, step: &Step, done: &Done) -> Next {
        match (step, done) {
            (Step::Baseline, Done::Baseline(gates)) => self.after_baseline(gates),
            (Step::Tester, Done::Tester { session, tests }) => {
                self.after_tester(session.as_ref(), tests)
            }
            (Step::Coder { bounce, .. }, Done::Coder(session)) => {
                self.after_coder(*bounce, session)
            }
            (Step::Snapshot { bounce }, Done::Snapshot { refused: Some(why), .. }) => {
                let evidence = evidence(*bounce, Shortfall::Unstorable, why);
                self.fall_short(*bounce, Outcome::Failure, None, evidence)
            }
            (Step::Snapshot { bounce }, Done::Snapshot { tree, secrets, left_out, .. }) => {
                self.after_snapshot(*bounce, tree, secrets, left_out)
            }
            (Step::Gates { bounce, tree }, Done::Gates(gates)) => {
                self.after_gates(*bounce, tree, gates)
            }
            (
                Step::Verifier { bounce, tree, attempt },
                Done::Verifier { session, intact, nonce, submitted },
            ) => self.after_verifier(
                *bounce,
                tree,
                *attempt,
                JudgedSession { session, intact: *intact, nonce, submitted },
            ),
            (Step::Close { bounce, outcome, reason, .. }, Done::Closed) => {
                self.bounce = *bounce;
                self.after_bounce(*bounce, *outcome, reason)
            }
            (step, _) => misfit(step),
        }
    }

    /// Ends a decided run: with a summary, if the settings ask for one, or at once.
    fn wind_up(&self, conclusion: Conclusion) -> Next {
        if self.rules.summarize {
            return Next::Do(Step::Summarize { bounce: self.bounce, conclusion });
        }
        finish(conclusion)
    }

    fn after_baseline(&mut self, gates: &GateSummary) -> Next {
        let rules = &self.rules;
        let unstarted = gates.nameless.iter().any(|gate| gate.unstarted);
        match gates.green {
            true if rules.fix_red => {
                refuse("every check is green at the base commit, so there is nothing to mend")
            }
            true => self.first(),
            false if rules.fix_red && !unstarted => {
                self.first_evidence = Some(Evidence {
                    output: gates.evidence.clone(),
                    ..evidence(0, Shortfall::RedBase, &gates.lines.join("\n"))
                });
                self.first()
            }
            false if rules.fix_red => {
                let who = whose(gates, "a check");
                let reason = format!(
                    "{who} cannot even be started at the base commit, which no change mends"
                );
                refuse(&with_tails(&reason, gates))
            }
            // What is red without naming a test would be red after any change.
            false if rules.allow_red && gates.nameless.is_empty() => self.first(),
            false if rules.allow_red => {
                let who = whose(gates, "a check");
                let reason = format!(
                    "{who} fails at the base commit without naming a test, so that old failures \
                     cannot be told from new ones"
                );
                refuse(&with_tails(&reason, gates))
            }
            false if !gates.asked.is_empty() => {
                let who = whose(gates, "");
                refuse(&with_tails(&format!("{who} already fails at the base commit"), gates))
            }
            false => refuse(&with_tails(RED_BASE, gates)),
        }
    }

    /// Returns the first step of the work: the tester's where one is wanted, else the coder's.
    pub(crate) fn first(&self) -> Next {
        match self.rules.hold_out {
            true => Next::Do(Step::Tester),
            false => self.first_coder(),
        }
    }

    fn first_coder(&self) -> Next {
        let evidence = self.first_evidence.clone();
        Next::Do(Step::Coder { bounce: 1, evidence, conversation: None })
    }

    /// Whatever becomes of the tester, the task is the coder's: only a person who interrupts, a limit
    /// that will pass, and one who insists on its tests hold the run up.
    fn after_tester(&self, session: Option<&SessionSummary>, tests: &WrittenTests) -> Next {
        if let Some(session) = session {
            let reason = session.reason.as_deref().unwrap_or("the tester's session had to stop");
            match session.outcome {
                outcome @ (Outcome::Interrupted | Outcome::QuotaParked | Outcome::NeedsHuman) => {
                    return Next::Park { outcome, park: park_of(outcome), reason: reason.into() };
                }
                Outcome::DepthExceeded => return finish(conclusion(session.outcome, reason)),
                _ => {}
            }
        }
        match &tests.failure {
            Some(why) if self.rules.require >= ProofLevel::HeldOut => Next::Park {
                outcome: Outcome::NeedsHuman,
                park: Park::Human,
                reason: format!("there are no held-out tests, which are required: {why}"),
            },
            _ => self.first_coder(),
        }
    }

    fn after_coder(&mut self, bounce: u32, session: &SessionSummary) -> Next {
        let reason = session.reason.as_deref().unwrap_or("the coder's session had to stop");
        match decide(Layer::Bounce, session.outcome, self.left(bounce)) {
            Action::Park(outcome) => {
                Next::Park { outcome, park: park_of(outcome), reason: reason.into() }
            }
            Action::Raise(outcome @ Outcome::DepthExceeded) => finish(conclusion(outcome, reason)),
            // A failed session may have left something worth checking: what it changed decides.
            _ => {
                self.coder = Some(session.clone());
                Next::Do(Step::Snapshot { bounce })
            }
        }
    }

    fn after_snapshot(
        &mut self,
        bounce: u32,
        tree: &TreeId,
        secrets: &[Finding],
        left_out: &[String],
    ) -> Next {
        let untouched = self.base_tree.as_ref() == Some(tree);
        // After a bounce it began with the tree that was rejected.
        let as_before = untouched || self.rejected_tree.as_ref() == Some(tree);
        // A coder whose session reached a limit has another attempt, as the table of ends says of 12:
        // the evidence may spare the next session what this one looked at for too long.
        let is_over =
            |coder: &&SessionSummary| !matches!(coder.outcome, Outcome::Success | Outcome::Partial);
        if let Some(coder) = self.coder.as_ref().filter(is_over)
            && as_before
        {
            let reason = coder.reason.as_deref().unwrap_or("no reason given");
            let refused = match &coder.notes.refused {
                none if none.is_empty() => String::new(),
                refused => format!("; {refused}"),
            };
            return finish(conclusion(
                Outcome::Failure,
                &format!("the coder failed and changed nothing: {reason}{refused}"),
            ));
        }
        if as_before {
            let reason = match (untouched, left_out) {
                (true, []) => "the coder changed nothing".to_owned(),
                (true, files) => format!(
                    "the coder changed nothing but files that no commit takes: {}",
                    files.join(", ")
                ),
                (false, _) => "the coder handed in the rejected tree again".to_owned(),
            };
            let ended = self.coder.as_ref().filter(|coder| coder.outcome != Outcome::Success);
            let reason = match ended.and_then(|coder| coder.reason.as_deref()) {
                Some(why) => format!("{reason}: {why}"),
                None => reason,
            };
            let refused = self.coder.as_ref().map(|coder| &coder.notes.refused);
            let reason = match refused.filter(|refused| !refused.is_empty()) {
                Some(refused) => format!("{reason}; {refused}"),
                None => reason,
            };
            return self.fall_short(
                bounce,
                Outcome::Failure,
                None,
                evidence(bounce, Shortfall::NoChange, &reason),
            );
        }
        if !secrets.is_empty() {
            self.rejected_tree = Some(tree.clone());
            let evidence = Evidence {
                findings: secrets.to_vec(),
                ..evidence(bounce, Shortfall::Secret, "the change holds what looks like a secret")
            };
            return self.fall_short(bounce, Outcome::Failure, None, evidence);
        }
        self.tree = Some(tree.clone());
        Next::Do(Step::Gates { bounce, tree: tree.clone() })
    }

    fn after_gates(&mut self, bounce: u32, tree: &TreeId, gates: &GateSummary) -> Next {
        let level = gates.proof.as_ref().map_or(ProofLevel::Checked, |proof| proof.level);
        if gates.green && level < self.rules.require {
            return self.not_proved(bounce, tree, gates);
        }
        if gates.green {
            return Next::Do(Step::Verifier { bounce, tree: tree.clone(), attempt: 1 });
        }
        self.rejected_tree = Some(tree.clone());
        let evidence = Evidence {
            output: gates.evidence.clone(),
            ..evidence(bounce, Shortfall::RedGate, &gates.lines.join("\n"))
        };
        self.fall_short(bounce, Outcome::Failure, None, evidence)
    }

    /// Green, but not as sure as the person wants it.
    fn not_proved(&mut self, bounce: u32, tree: &TreeId, gates: &GateSummary) -> Next {
        self.rejected_tree = Some(tree.clone());
        let doubts = gates.proof.iter().flat_map(|proof| &proof.doubts);
        let finding = |doubt: &String| Finding { file: None, line: None, message: doubt.clone() };
        let reason = format!("the checks are green, but the change is not {}", self.rules.require);
        let evidence = Evidence {
            findings: doubts.map(finding).collect(),
            ..evidence(bounce, Shortfall::NotProved, &reason)
        };
        self.fall_short(bounce, Outcome::Failure, None, evidence)
    }

    fn after_verifier(
        &mut self,
        bounce: u32,
        tree: &TreeId,
        attempt: u32,
        judged: JudgedSession<'_>,
    ) -> Next {
        let JudgedSession { session, intact, nonce, submitted } = judged;
        let reason = session.reason.as_deref().unwrap_or("the verifier's session had to stop");
        match session.outcome {
            Outcome::Success => {}
            Outcome::Interrupted | Outcome::QuotaParked | Outcome::NeedsHuman => {
                let outcome = session.outcome;
                return Next::Park { outcome, park: park_of(outcome), reason: reason.into() };
            }
            Outcome::DepthExceeded => return finish(conclusion(session.outcome, reason)),
            _ if attempt < self.rules.verifier_attempts => {
                return Next::Do(Step::Verifier {
                    bounce,
                    tree: tree.clone(),
                    attempt: attempt + 1,
                });
            }
            _ => {
                return Next::Park {
                    outcome: Outcome::NeedsHuman,
                    park: Park::Human,
                    reason: format!("the verifier broke down{}: {reason}", times(attempt)),
                };
            }
        }
        let verdict = if intact {
            let said = read_verdict(&session.final_text, nonce, self.rules.phrase_confidence);
            settle_verdict(submitted.clone(), said)
        } else {
            Verdict::unknown(
                "the verifier changed the tree it was to judge, so its verdict is void",
            )
        };
        self.after_verdict(bounce, tree, verdict)
    }

    fn after_verdict(&mut self, bounce: u32, tree: &TreeId, verdict: Verdict) -> Next {
        match verdict.weigh(self.rules.min_confidence) {
            Ruling::Supports => Next::Do(Step::Close {
                bounce,
                outcome: Outcome::Success,
                reason: verdict.reason.clone(),
                verdict: Some(verdict),
            }),
            Ruling::Contradicts => {
                self.rejected_tree = Some(tree.clone());
                let evidence = Evidence {
                    findings: verdict.findings.clone(),
                    ..evidence(bounce, Shortfall::Rejected, &verdict.reason)
                };
                self.fall_short(bounce, Outcome::Failure, Some(verdict), evidence)
            }
            Ruling::Unknown => {
                let evidence = evidence(bounce, Shortfall::Unread, &verdict.reason);
                self.fall_short(bounce, Outcome::NeedsRefinement, Some(verdict), evidence)
            }
        }
    }

    fn fall_short(
        &mut self,
        bounce: u32,
        outcome: Outcome,
        verdict: Option<Verdict>,
        evidence: Evidence,
    ) -> Next {
        let reason = evidence.reason.clone();
        self.evidence = Some(evidence);
        Next::Do(Step::Close { bounce, outcome, verdict, reason })
    }

    fn after_bounce(&mut self, bounce: u32, outcome: Outcome, reason: &str) -> Next {
        match decide(Layer::Bounce, outcome, self.left(bounce)) {
            Action::Advance => match self.tree.clone() {
                Some(tree) => Next::Do(Step::Commit { bounce, tree }),
                None => finish(conclusion(Outcome::Failure, "nothing was ever handed in")),
            },
            Action::NextBounce => {
                let conversation = self.conversation();
                let evidence = self.evidence.clone();
                Next::Do(Step::Coder { bounce: bounce + 1, evidence, conversation })
            }
            Action::Raise(outcome) => finish(conclusion(
                outcome,
                &format!("nobody could say whether attempt {bounce} passes: {reason}"),
            )),
            _ => Next::Do(Step::Escalate {
                bounce,
                reason: format!("not verified by attempt {bounce}, the last: {reason}"),
            }),
        }
    }

    /// A conversation that ended in trouble is not a good one to go on with.
    fn conversation(&self) -> Option<String> {
        let ended_well = self.coder.as_ref().filter(|coder| coder.outcome == Outcome::Success);
        ended_well.and_then(|coder| coder.session_id.clone())
    }

    fn left(&self, bounce: u32) -> AttemptsLeft {
        AttemptsLeft {
            retries: self.rules.max_bounces.saturating_sub(bounce),
            heals: 0,
            idempotent: false,
            budget: true,
        }
    }
}

fn evidence(bounce: u32, shortfall: Shortfall, reason: &str) -> Evidence {
    Evidence {
        bounce,
        shortfall,
        reason: reason.into(),
        output: String::new(),
        findings: Vec::new(),
    }
}

pub(crate) fn conclusion(outcome: Outcome, reason: &str) -> Conclusion {
    Conclusion { outcome, fault: None, reason: reason.into(), commit: None, tree: None }
}

/// How the reason of a run begins that found the project's checks red before it did anything.
pub const RED_BASE: &str = "the project's own checks already fail at the base commit";

/// Ends a run that could not rightly begin.
fn refuse(reason: &str) -> Next {
    finish(Conclusion { fault: Some(Fault::BadInput), ..conclusion(Outcome::Failure, reason) })
}

/// Lines of what red gates printed that a refusal repeats.
const TAIL_LINES: usize = 8;

/// Names the red checks that a task alone asked for; others are just `other`.
fn whose(gates: &GateSummary, other: &str) -> String {
    match gates.asked.as_slice() {
        [] => other.to_owned(),
        [only] => format!("the task's own check `{only}`"),
        [first, ..] => format!("the task's own check `{first}`, and not it alone,"),
    }
}

/// Adds the last lines of the gates that say nothing else; where all name what fails, of what was
/// printed about that.
fn with_tails(reason: &str, gates: &GateSummary) -> String {
    let mut told = reason.to_owned();
    if gates.nameless.is_empty() {
        let lines: Vec<&str> = gates.evidence.trim_end().lines().collect();
        let (before, tail) = lines.split_at(lines.len().saturating_sub(TAIL_LINES));
        for line in causes(before).iter().chain(tail) {
            told.push_str(&format!("\n  {}", line.trim_end()));
        }
    }
    for gate in &gates.nameless {
        told.push_str(&format!("\n$ {}", gate.command));
        for line in gate.tail.lines() {
            told.push_str(&format!("\n  {line}"));
        }
    }
    told
}

/// Returns the first lines that name an error, each once: runners end with the names of what failed,
/// and what a person needs first, such as a module that is not there, stands far above.
fn causes<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    const MOST: usize = 3;
    let mut causes: Vec<&str> = Vec::new();
    let is_named = |line: &&&str| {
        ["Error:", "error:", "error[", "panicked at"].iter().any(|word| line.contains(word))
    };
    for line in lines.iter().filter(is_named) {
        if causes.len() < MOST && !causes.iter().any(|told| told.trim() == line.trim()) {
            causes.push(line);
        }
    }
    causes
}

pub(crate) fn finish(conclusion: Conclusion) -> Next {
    Next::Do(Step::Finish { conclusion })
}

/// The journal belongs to another version of this machine: stop before harm.
pub(crate) fn misfit(step: &Step) -> Next {
    finish(Conclusion {
        fault: Some(Fault::Bug),
        ..conclusion(
            Outcome::Failure,
            &format!("the record of step {} does not fit the step", step.key()),
        )
    })
}

pub(crate) fn park_of(outcome: Outcome) -> Park {
    match outcome {
        Outcome::QuotaParked => Park::Quota,
        Outcome::Interrupted => Park::Interrupt,
        _ => Park::Human,
    }
}

pub(crate) fn park_for(park: Park, reason: &str) -> Next {
    let outcome = match park {
        Park::Budget | Park::Human => Outcome::NeedsHuman,
        Park::Quota => Outcome::QuotaParked,
        Park::Interrupt => Outcome::Interrupted,
    };
    Next::Park { outcome, park, reason: reason.into() }
}

/// Says how often, behind what happened.
fn times(count: u32) -> String {
    match count {
        1 => String::new(),
        2 => " twice".to_owned(),
        count => format!(" {count} times"),
    }
}

#[cfg(test)]
pub(crate) mod tests;
