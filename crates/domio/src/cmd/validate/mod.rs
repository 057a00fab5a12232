//! `domio validate`: simulated hosts against recorded traces.

mod text;

use crate::args::{Global, Validate};
use crate::out::{self, Status};
use crate::progress::progress;
use domio_front::{recordings, validated};
use domio_lab::AllCores;
use domio_validate::{Judgement, RecordingError};

/// Simulates every recording that is named, or all that ship, and compares. Those that cannot be
/// used are told and hide none of the others. Of all that ship, an exact comparison takes those
/// that have one.
pub fn run(args: &Validate, global: &Global) -> anyhow::Result<Status> {
    if !args.json && !args.csv {
        out::knows(&text::columns())?;
    }
    let found = recordings::find(&args.recordings, args.exact)?;
    let total = found.len();
    let recordings = usable(found);
    let all = AllCores(&*progress(global));
    let agreements = usable(recordings::agreements(&recordings, args.exact, &all));
    let differ = recordings::count(&agreements, Judgement::Differs);
    // Where there is nothing to show, the errors have said everything.
    if args.csv && !agreements.is_empty() {
        let mut tables = validated::answer(&agreements).tables();
        tables.retain(|table| table.key == "traces.domains.figures");
        out::csv(&tables)?;
    } else if !agreements.is_empty() {
        out::answer(
            args.json,
            || validated::answer(&agreements),
            || text::render(&agreements, out::view()),
        )?;
    }
    match agreements.len() == total {
        true => Ok(Status::of_check(differ == 0)),
        false => Ok(Status::Unreadable),
    }
}

/// What went well of `results`; the errors of the others are told.
fn usable<T>(results: Vec<Result<T, RecordingError>>) -> Vec<T> {
    let tell = |error| out::message(&format!("error: {:#}", anyhow::Error::new(error)));
    let results = results.into_iter();
    results.filter_map(|r| r.map_err(tell).ok()).collect()
}
