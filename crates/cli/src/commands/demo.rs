use std::path::PathBuf;

use spore_app::{DEMO_TASK, Error, Orchestrate, Result, Surroundings};

use super::{exit_code, text};
use crate::surroundings::listen_for_signals;
use crate::ui::Ui;

/// Watch a whole run, offline: a failing test, three attempts, a verdict, a commit
///
/// Makes a small repository and gives it to an agent that plays a script. The checks, the
/// checkouts, the journal and the commit are the real ones.
#[derive(clap::Args)]
pub(crate) struct DemoArgs {
    /// Lay the sample repository out here; a new temporary directory if left out
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(crate) fn run(ui: &mut Ui, around: Surroundings, args: &DemoArgs) -> Result<u8> {
    let dir = match &args.dir {
        Some(dir) => around.cwd.join(dir),
        None => temporary(&around),
    };
    let demo = spore_app::lay_out_demo(&dir)?;
    let around = Surroundings { root: Some(demo.root.clone()), ..around };
    listen_for_signals(&around.interrupt)?;
    let asked = Orchestrate {
        task: DEMO_TASK.to_owned(),
        backend: Some("replay".to_owned()),
        scenario: Some(demo.scenario),
        allow_red: true,
        ..Orchestrate::default()
    };
    let report = spore_app::orchestrate(&around, &asked, ui)?;
    let root = demo.root.canonicalize().map_err(|source| Error::io("the demo is gone", source))?;
    ui.answer(&report, || {
        format!(
            "{}\nLook around:\n  cd {}\n  git show {}\n  spore runs show {}\n",
            text::run_in_full(&report, around.clock.now()),
            spore_plain::path(&root),
            report.branch.as_deref().unwrap_or("HEAD"),
            report.run.id.short()
        )
    });
    Ok(exit_code(&report))
}

#[expect(clippy::disallowed_methods, reason = "only the demo is laid out there")]
fn temporary(around: &Surroundings) -> PathBuf {
    std::env::temp_dir().join(format!("spore-demo-{}", around.ids.run().short().to_lowercase()))
}
