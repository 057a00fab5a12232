//! The shipped recordings, part of the program.

use crate::recording::{Recording, RecordingError};
use std::path::PathBuf;

/// A shipped recording: its name, its description and its trace.
type Shipped = (&'static str, &'static [u8], &'static [u8]);

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        &[$((
            $name,
            include_bytes!(concat!("../recordings/", $name, "/scenario.json")),
            include_bytes!(concat!("../recordings/", $name, "/trace.bin")),
        )),*]
    };
}

static RECORDINGS: &[Shipped] = shipped![
    "c1-burn7",
    "c1-burn7-periodic",
    "c1-cap30",
    "c1-weights-1-2-4",
    "c2-cap30",
    "c2-weights-1-2-4",
];

/// The names of all shipped recordings. They lie in the folder `testdata/xen-traces` too.
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
    use std::fs::File;
    use std::path::Path;

    #[test]
    fn every_recording_of_the_folder_ships_as_it_is() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/xen-traces");
        let all = Recording::load_all(&folder, &|path| Ok(Box::new(File::open(path)?))).unwrap();
        assert_eq!(all.len(), names().count());
        for recorded in all {
            let recorded = recorded.unwrap();
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
