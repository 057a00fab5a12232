//! `domio calibrate`: what packets cost a driver domain.

use crate::args::{Calibrate, Global};
use crate::keeping;
use crate::out::{self, Status};
use crate::progress::progress;
use crate::shared::host::load;
use anyhow::{Context, anyhow};
use domio_advise::calibrate::{Bench, Calibration, CalibrationPoint, Use, points};
use domio_front::hosts;
use domio_report::text::table;
use domio_run::simulate::RunFault;
use domio_run::{Sample, SampleKey, Subject};

/// Runs both benchmarks and prints what they say.
pub fn run(args: &Calibrate, global: &Global) -> anyhow::Result<Status> {
    let scenario = load(&args.scenario, &args.how, None, &global.parts)?;
    let bench = Bench::new(hosts::build(&scenario)?)
        .map_err(|why| anyhow!("{} cannot be calibrated: {why}", args.scenario))?;
    let count = args.how.replications;
    let kept_as = domio_lab::store::subject(&scenario).ok();
    let points: Vec<(CalibrationPoint, Option<Subject>)> = points()
        .into_iter()
        .map(|point| (point, kept_as.as_ref().map(|of| point.subject(of))))
        .collect();
    let jobs: Vec<(&(CalibrationPoint, Option<Subject>), u32)> = points
        .iter()
        .flat_map(|point| (0..count).map(move |n| (point, n)))
        .collect();
    let keeper = keeping::keeper(&args.keeping, &global.parts)?;
    let measured = keeper.on_all_cores(
        &jobs,
        |((_, subject), n)| {
            Some(SampleKey {
                subject: subject.as_ref()?,
                seed: bench.seed(),
                replication: *n,
            })
        },
        |_| "measurements",
        &*progress(global),
        |((point, _), n), heard| Ok((bench.measure(*point, *n, heard)?.sample(), ())),
    );
    keeping::tell(&keeper, &args.keeping);
    let measured = measured.into_iter().map(|result| Ok(result?.0));
    let measured: Result<Vec<Sample>, RunFault> = measured.collect();
    let measured = measured.map_err(|fault| hosts::failed(&fault))?;
    let measured: Option<Vec<Use>> = measured.iter().map(Use::of).collect();
    let measured = measured.context(
        "kept measurements lack a figure; repeat the command with --no-results, which uses none",
    )?;
    let uses: Vec<Vec<Use>> = measured
        .chunks(count.max(1) as usize)
        .map(<[Use]>::to_vec)
        .collect();
    let calibration = bench.calibration(&uses);
    out::answer(
        args.json,
        || calibration.answer(),
        || rendered(&calibration),
    )?;
    Ok(Status::Success)
}

/// Both tables, and what was found.
fn rendered(calibration: &Calibration) -> String {
    let tables = calibration.tables().into_iter();
    let tables = tables.map(|t| format!("{}:\n\n{}", t.title, table::render(&t, out::view())));
    let parts = tables.chain([calibration.findings().join("\n") + "\n"]);
    parts.collect::<Vec<_>>().join("\n")
}
