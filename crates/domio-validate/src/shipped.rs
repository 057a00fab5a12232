//! The shipped recordings, part of the program.

use crate::recording::{Recording, RecordingError};
use std::path::PathBuf;

/// A shipped recording: its name, its description and its trace.
type Shipped = (&'static str, &'static [u8], &'static [u8]);

macro_rules! shipped {
    ($($folder:literal $name:literal $trace:literal),* $(,)?) => {
        &[$((
            $name,
            include_bytes!(concat!("../", $folder, "/", $name, "/scenario.json")),
            include_bytes!(concat!("../", $folder, "/", $name, "/", $trace)),
        )),*]
    };
}

static RECORDINGS: &[Shipped] = shipped![
    "recordings" "c1-burn7" "trace.bin",
    "recordings" "c1-burn7-periodic" "trace.bin",
    "recordings" "c1-cap30" "trace.bin",
    "recordings" "c1-weights-1-2-4" "trace.bin",
    "recordings" "c2-cap30" "trace.bin",
    "recordings" "c2-weights-1-2-4" "trace.bin",
    "linux-recordings" "cfs-weights-1-2-4" "trace.dat",
    "linux-recordings" "eevdf-quota-v6" "trace.dat.gz",
    "linux-recordings" "eevdf-weights-1-2-4" "trace.dat",
    "linux-recordings" "eevdf618-weights-1-2-4" "trace.dat",
    "linux-recordings" "eevdf73-weights-1-2-4" "trace.dat",
];

/// The names of all shipped recordings: those of Xen, which lie in the folder
/// `testdata/xen-traces` too, and then those of Linux, of `testdata/linux-traces`.
pub fn names() -> impl Iterator<Item = &'static str> {
    RECORDINGS.iter().map(|(name, ..)| *name)
}

/// The shipped recording called `name`.
///
/// # Errors
/// [`RecordingError::NotShipped`] if there is none of that name.
pub fn recording(name: &str) -> Result<Recording, RecordingError> {
    let found = RECORDINGS.iter().find(|(shipped, ..)| *shipped == name);
    let (name, text, trace) = found.ok_or_else(|| RecordingError::NotShipped {
        name: name.to_owned(),
        shipped: names().collect(),
    })?;
    let file = |name: &str| PathBuf::from(format!("shipped recording {name}"));
    Recording::read((*name).to_owned(), [file(name), file(name)], text, *trace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::OpenFile;
    use std::fs::File;
    use std::path::Path;

    #[test]
    fn every_recording_of_the_folder_ships_as_it_is() {
        let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
        let all = ["xen-traces", "linux-traces"].map(|folder| {
            let open: OpenFile<'_> = &|path| Ok(Box::new(File::open(path)?));
            Recording::load_all(&testdata.join(folder), open).unwrap()
        });
        let all: Vec<Recording> = all.into_iter().flatten().map(Result::unwrap).collect();
        // That of two cpus is in the folder alone.
        assert_eq!(all.len(), names().count() + 1);
        for recorded in all.iter().filter(|r| r.name != "eevdf-2cpu-vhost") {
            let shipped = recording(&recorded.name).unwrap();
            assert_eq!(shipped.records, recorded.records);
            assert_eq!(shipped.description.pcpus, recorded.description.pcpus);
        }
    }

    #[test]
    fn a_name_that_is_none_is_told_with_those_that_are() {
        let error = recording("c1-burn8").expect_err("not shipped").to_string();
        assert!(
            error.contains("c1-burn8") && error.contains("c1-cap30"),
            "{error}"
        );
    }
}
