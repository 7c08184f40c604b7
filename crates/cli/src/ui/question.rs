//! A question at the terminal, which Ctrl-C answers too.

use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use spore_app::Interrupt;

/// How soon an interrupt is noticed.
const PAUSE: Duration = Duration::from_millis(50);

/// Asks whether to go on. Anything but a yes is a no, and so are an interrupt and the end of the
/// input.
pub(crate) fn agrees(interrupt: &Interrupt) -> bool {
    let mut terminal = std::io::stderr();
    let _ = write!(terminal, "Go on? [y/N] ").and_then(|()| terminal.flush());
    let (sender, receiver) = channel();
    // A read cannot be called off: after an interrupt the thread is left to the end of the program.
    std::thread::spawn(move || {
        let mut answer = String::new();
        if std::io::stdin().read_line(&mut answer).is_ok() {
            let _ = sender.send(answer);
        }
    });
    loop {
        match receiver.recv_timeout(PAUSE) {
            Ok(answer) => return matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"),
            Err(RecvTimeoutError::Timeout) if !interrupt.is_raised() => {}
            Err(_) => {
                let _ = writeln!(terminal);
                return false;
            }
        }
    }
}
