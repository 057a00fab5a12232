//! `domio calibrate`: what packets cost a driver domain.

use crate::args::{Calibrate, Global};
use crate::keeping;
use crate::out::{self, Status};
use crate::progress::progress;
use crate::shared::host::load;
use anyhow::{Context, anyhow};
use domio_advise::calibrate::{
    Bench, Calibration, CalibrationPoint, CalibrationRow, FIXED_RATE, FIXED_SIZE, SizeEffect, Use,
    points,
};
use domio_front::hosts;
use domio_report::text::{TextCell, TextColumn, TextTable};
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
    match args.json {
        true => out::json_as("calibrate", &calibration)?,
        false => out::text(&rendered(&calibration))?,
    }
    Ok(Status::Success)
}

fn rendered(c: &Calibration) -> String {
    let Calibration { driver, guest, .. } = c;
    let mut text = format!("{driver}'s use, {FIXED_RATE} packets/s of several sizes:\n\n");
    text += &table("size\n[bytes]", &c.sizes, |row| row.bytes.to_string());
    text += &format!(
        "\n{driver}'s use, packets of {FIXED_SIZE} bytes at several rates:\n\n{}",
        table("rate\n[packets/s]", &c.rates, |row| row
            .packets_per_s
            .to_string())
    );
    text += "\n";
    for (what, effect) in [("receiving", c.receive_size), ("sending", c.send_size)] {
        text += &size_effect(what, effect);
    }
    text += &format!(
        "Sending over receiving: {:.3}, standard deviation {:.3}; of the work for {guest} alone \
         {:.3}.\nIn a scenario: send_weight_thousandths = {}\n",
        c.weight, c.weight_deviation, c.owned_weight, c.send_weight_thousandths
    );
    let lost: u64 = c.sizes.iter().chain(&c.rates).map(|row| row.lost).sum();
    if lost > 0 {
        text += &format!(
            "{lost} packets were lost on the way: where that is many, the host cannot keep up, and \
             its figures are of what it got to.\n"
        );
    }
    text
}

fn size_effect(
    what: &str,
    SizeEffect {
        spread_percent,
        depends,
    }: SizeEffect,
) -> String {
    let verdict = match depends {
        true => "depends on size",
        false => "does not depend on size",
    };
    format!("The cost of {what} {verdict}: it varies by {spread_percent:.1} % of its mean.\n")
}

fn table(first: &str, rows: &[CalibrationRow], name: impl Fn(&CalibrationRow) -> String) -> String {
    let mut table = TextTable::new([
        TextColumn::figures(first),
        TextColumn::figures("receiving\n[% of one pcpu]"),
        TextColumn::figures("sending\n[% of one pcpu]"),
        TextColumn::figures("sending /\nreceiving"),
        TextColumn::figures("lost\n[packets]"),
    ]);
    for row in rows {
        let cells = [
            name(row),
            format!("{:.2}", row.receive_percent),
            format!("{:.2}", row.send_percent),
            format!("{:.3}", row.weight),
            row.lost.to_string(),
        ];
        table.row(cells.map(TextCell::from));
    }
    table.render(out::view())
}
