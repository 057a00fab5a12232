//! What `lscpu` and `virsh nodeinfo` print of a host's processors.

use super::{ImportError, ImportFiles, Told, at, number};
use domio_core::cpuset::MAX_PCPUS;

/// Keys, in the words of both programs.
const PCPUS: &str = "CPU(s)";
const THREADS: &str = "Thread(s) per core";
const CORES: [&str; 2] = ["Core(s) per socket", "Core(s) per cluster"];
const SOCKETS: [&str; 3] = ["Socket(s)", "CPU socket(s)", "Cluster(s)"];

/// Whether `text` is one of them.
pub(super) fn is_machine(text: &str) -> bool {
    let mut keys = text.lines().filter_map(|line| line.split_once(':'));
    keys.any(|(key, _)| key.trim() == PCPUS)
}

pub(super) fn read(files: &mut ImportFiles, text: &str, file: &str) -> Result<(), ImportError> {
    let mut shape = [None; 3];
    for (n, line) in text.lines().enumerate() {
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        let place = at(file, n + 1);
        let most = MAX_PCPUS as i64;
        let part = match key.trim() {
            PCPUS => {
                let value = number(value, (1, most), "a number of pcpus", &place)? as u16;
                files.machine.pcpus = Some(Told { value, at: place });
                continue;
            }
            key if SOCKETS.contains(&key) => 0,
            key if CORES.contains(&key) => 1,
            THREADS => 2,
            _ => continue,
        };
        shape[part] = Some(number(value, (1, most), "a number of processors", &place)? as u16);
    }
    if let [Some(sockets), Some(cores), Some(threads)] = shape {
        files.machine.shape = Some([sockets, cores, threads]);
    }
    Ok(())
}
