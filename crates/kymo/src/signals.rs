//! Signals that end the program: nothing half-written stays behind.

/// Leaves nothing half-written behind when the program is ended by a signal that it can hear. A limit
/// for the size of files is an error of the file then. Called once, before other threads are started.
#[cfg(unix)]
pub(crate) fn clean_up_when_ended() -> anyhow::Result<()> {
    use nix::sys::signal::{SigSet, Signal};
    use std::thread::Builder;

    /// Signals that end a program that does not handle them: sent by a person, a terminal, a batch
    /// system, a clock.
    const ENDING: [Signal; 10] = [
        Signal::SIGHUP,
        Signal::SIGINT,
        Signal::SIGQUIT,
        Signal::SIGTERM,
        Signal::SIGUSR1,
        Signal::SIGUSR2,
        Signal::SIGALRM,
        Signal::SIGVTALRM,
        Signal::SIGPROF,
        Signal::SIGXCPU,
    ];
    /// Shells say of a program that was ended by a signal this and the number of the signal.
    const ENDED: i32 = 128;

    let ignored = ignored();
    let is_heard = |signal: &Signal| ignored >> (*signal as i32 - 1) & 1 == 0;
    let heard: SigSet = ENDING.into_iter().filter(is_heard).collect();
    let mut blocked = heard;
    blocked.add(Signal::SIGXFSZ);
    // Threads that are started later have the same signals blocked: only one waits for them.
    blocked.thread_block()?;
    Builder::new().name("signals".to_owned()).spawn(move || {
        if let Ok(signal) = heard.wait() {
            kymo_core::abandon();
            std::process::exit(ENDED + signal as i32);
        }
    })?;
    Ok(())
}

/// The signals that whoever started the program wants it not to hear, such as `nohup`: a bit of each.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(not(unix))]
pub(crate) fn clean_up_when_ended() -> anyhow::Result<()> {
    /// Exit code that shells give for a program that was interrupted.
    const INTERRUPTED: i32 = 130;
    Ok(ctrlc::set_handler(|| {
        kymo_core::abandon();
        std::process::exit(INTERRUPTED);
    })?)
}
