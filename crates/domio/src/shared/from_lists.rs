//! `domio scenario from-lists`: a scenario of what `xl` printed of a host.

use crate::args::{Global, ScenarioFromLists};
use crate::files::{FileKind, Files};
use crate::input::{self, InputKind};
use crate::out::{self, Status};
use anyhow::{Context, anyhow, bail};
use domio_front::scenarios::ScenarioText;
use domio_replay::from_lists::{self, FromListsError, HostLists, ListOptions};

/// Reads what `xl` printed, and writes the scenario.
pub fn run(args: &ScenarioFromLists, global: &Global) -> anyhow::Result<Status> {
    if args.json && args.output.is_some() {
        bail!("--json prints the scenario and --output writes it to a file; leave one out");
    }
    let read = args.files.iter().filter(|path| !input::is_stdin(path));
    let read = read.map(|path| ("what xl printed", path.clone()));
    let files = Files::reading(read).forced(args.force);
    let target = files.makes(args.output.as_deref(), FileKind::Scenario)?;
    let mut lists = HostLists::default();
    for path in &args.files {
        let name = input::name(path);
        let kind = input::kind(path).with_context(|| format!("cannot read {name}"))?;
        if let InputKind::Foreign { what, advice } = kind
            && !kind.is_of_xl()
        {
            bail!("{name} is {what}, where an output of `xl` or `xm` is expected; {advice}");
        }
        let text = input::text(path).with_context(|| format!("cannot read {name}"))?;
        lists.read(&text, &name).with_context(|| name.clone())?;
    }
    let options = ListOptions {
        command: command(args),
        interval_ms: args.interval,
        pcpus: args.pcpus,
        work_us: args.work_us,
        load_pct: args.load,
    };
    let made = from_lists::scenario(&lists, &options, global.parts.policies()).map_err(
        |error| match error {
            FromListsError::Scenario(errors) => anyhow!(
                "the lists make no valid scenario:\n\n{}",
                errors.render(true).trim_end()
            ),
            other => anyhow!("{other}"),
        },
    )?;
    let notices = made.notices.iter();
    notices.for_each(|unknown| out::notice(&format!("not known: {unknown}")));
    if args.json {
        let name = input::name(&args.files[0]);
        out::json(&ScenarioText::of(&name, made.text, &global.parts).answer())?;
    } else {
        target.write(&made.text)?;
    }
    Ok(Status::Success)
}

/// The command, as the scenario's first line tells it.
fn command(args: &ScenarioFromLists) -> String {
    let mut command = "domio scenario from-lists".to_owned();
    for path in &args.files {
        command += &format!(" {}", path.display());
    }
    if let Some(ms) = args.interval {
        let thousandths = match ms % 1_000 {
            0 => String::new(),
            rest => format!(".{rest:03}"),
        };
        command += &format!(" --interval {}{thousandths}", ms / 1_000);
    }
    if let Some(pcpus) = args.pcpus {
        command += &format!(" --pcpus {pcpus}");
    }
    if args.load != 100 {
        command += &format!(" --load {}", args.load);
    }
    if args.work_us != 2_000 {
        command += &format!(" --work-us {}", args.work_us);
    }
    command
}
