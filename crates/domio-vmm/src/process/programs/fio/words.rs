//! Values of keys of fio that are a word or a whole number, with what is allowed.

pub(super) const NUMBER: &str = "a whole number";
/// Engines that wait for each call, and those that keep several in flight.
const WAITING: [&str; 5] = ["sync", "psync", "vsync", "pvsync", "pvsync2"];
const IN_FLIGHT: [&str; 3] = ["libaio", "io_uring", "posixaio"];

/// Whether each write is to end on the disk.
pub(super) fn is_sync(value: &str) -> Result<bool, &'static str> {
    match value {
        "" | "1" | "sync" | "dsync" => Ok(true),
        "0" | "none" => Ok(false),
        _ => Err("0, none, 1, sync or dsync"),
    }
}

pub(super) fn number(value: &str) -> Result<u32, &'static str> {
    value.parse().map_err(|_| NUMBER)
}

pub(super) fn percent(value: &str) -> Result<u32, &'static str> {
    let percent = number(value).ok().filter(|percent| *percent <= 100);
    percent.ok_or("a percentage from 0 to 100")
}

pub(super) fn flag(value: &str) -> Result<bool, &'static str> {
    match value {
        "" | "1" => Ok(true),
        "0" => Ok(false),
        _ => Err("0 or 1"),
    }
}

/// Whether the engine waits for each call.
pub(super) fn engine(value: &str) -> Result<bool, &'static str> {
    if WAITING.contains(&value) {
        return Ok(true);
    }
    match IN_FLIGHT.contains(&value) {
        true => Ok(false),
        false => Err("sync, psync, vsync, pvsync, pvsync2, libaio, io_uring or posixaio"),
    }
}
