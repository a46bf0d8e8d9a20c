//! What differs by operating system: how a process is told from a later one of the same number.

/// Returns when this process started, in the system's own count, if the system tells without more ado.
///
/// On Linux these are clock ticks since the system started.
pub(super) fn process_start() -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        // The second field is the program's name in brackets; it may itself hold brackets and spaces.
        let (_, fields) = stat.rsplit_once(')')?;
        // What follows the name begins with field 3; the start is field 22.
        fields.split_ascii_whitespace().nth(19)?.parse().ok()
    }
    #[cfg(not(target_os = "linux"))]
    None
}

/// Returns the id of this start of the system, if the system tells without more ado.
pub(super) fn boot_id() -> Option<String> {
    #[cfg(target_os = "linux")]
    {
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(String::from(id.trim_end()))
    }
    #[cfg(not(target_os = "linux"))]
    None
}
