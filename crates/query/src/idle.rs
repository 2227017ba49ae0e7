//! Tasks that run when no other does, by their names.

/// Returns true for names that people give to tasks that run when there is nothing to do: `idle`,
/// `IDLE1`, `Idle task`, `swapper/3`. A merge puts the file or a number behind them: `idle (server)`.
#[must_use]
pub fn is_idle_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let merged = name.strip_suffix(')').and_then(|name| name.rsplit_once(" ("));
    let name = merged.filter(|(_, file)| !file.is_empty()).map_or(&*name, |(name, _)| name);
    let rest = name.strip_prefix("idle").or_else(|| name.strip_prefix("swapper"));
    let Some(rest) = rest else { return false };
    let between = |c: char| matches!(c, ' ' | '_' | '-' | '/' | '.');
    let rest = rest.trim_start_matches(between);
    let rest = ["task", "thread"].iter().find_map(|word| rest.strip_prefix(word)).unwrap_or(rest);
    rest.trim_start_matches(between).bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_tasks_are_known_by_their_names() {
        for name in ["idle", "IDLE1", "idle0", "Idle task", "idle_thread_2", "swapper/3", "swapper"]
        {
            assert!(is_idle_name(name), "{name}");
        }
        for name in ["idle (2)", "swapper/0 (server)", "Idle task (2)"] {
            assert!(is_idle_name(name), "{name}");
        }
        for name in ["idle ()", "idle (2) (", "control (2)", "idle(2", "(2)"] {
            assert!(!is_idle_name(name), "{name}");
        }
        for name in ["idle_inject/0", "idler", "idle time", "my idle", "", "swapperd"] {
            assert!(!is_idle_name(name), "{name}");
        }
    }
}
