//! What reports show of moments, and figures as files.

use crate::args::{Drawn, Reporting};
use crate::files::{FileKind, Files, make_own_folder};
use crate::out;
use anyhow::{Context, bail};
use domio_core::Duration;
use domio_front::hosts;
use domio_report::data::ReportData;
use domio_report::files;
use domio_run::observe::{Observer, Seen, Window};
use domio_run::simulate::{RunFault, simulate};
use domio_scenario::{Built, Scenario};
use std::path::Path;

/// Time that timelines show around the longest wait.
pub const TIMELINE: Duration = Duration::from_millis(100);

impl Drawn {
    /// What timelines show.
    pub fn watched(&self) -> Window {
        match self.window {
            Some((from, until)) => Window::Between(from, until),
            None => Window::Worst(TIMELINE),
        }
    }

    /// Whether anything is drawn.
    ///
    /// # Errors
    /// When a window is chosen and nothing is, or the window is not within the measured time.
    pub fn draws(&self, reporting: &Reporting, built: Option<&Built>) -> anyhow::Result<bool> {
        let draws = reporting.report.is_some() || self.figures.is_some();
        if let Some((from, _)) = self.window {
            if !draws {
                bail!("--window is what a picture shows; ask for one with --report or --figures");
            }
            let Some(built) = built else {
                bail!("--window is of a simulated host, and only recordings are compared");
            };
            if from >= built.duration {
                let seconds = built.duration.as_nanos() as f64 / 1e9;
                bail!(
                    "--window begins after the measured time; times count from the end of the \
                     warm-up on, and {seconds} s are measured"
                );
            }
        }
        Ok(draws)
    }
}

/// What the first replication of `scenario`, built as `built`, shows.
///
/// # Errors
/// When the run ends early.
pub fn watch(scenario: &Scenario, built: &Built, window: Window) -> Result<Seen, RunFault> {
    let built = hosts::of_replication(scenario, built, 0)?;
    let result = simulate(&built, 0, Observer::new(window))?;
    Ok(result.sink.finish())
}

/// Writes the figures of `report` to `folder`, if there is one.
///
/// # Errors
/// When a file is one that the command reads, or cannot be written.
pub fn write(folder: Option<&Path>, report: &ReportData, mut reads: Files) -> anyhow::Result<()> {
    let Some(folder) = folder else {
        return Ok(());
    };
    // The folder is asked for; those above it are not.
    if !folder.is_dir() {
        let context = || {
            let folder = folder.display();
            format!("cannot make the folder {folder}; name one in a folder that is there")
        };
        let made = make_own_folder(folder).and_then(|()| std::fs::create_dir(folder));
        made.with_context(context)?;
    }
    let files = files::of(report);
    for (name, content) in &files {
        let kind = match name.ends_with(".svg") {
            true => FileKind::Svg,
            false => FileKind::Csv(content.lines().next().unwrap_or_default().to_owned()),
        };
        let target = reads.writes("--figures", &folder.join(name), kind)?;
        target.create()?.write_whole(content.as_bytes())?;
    }
    let (count, folder) = (files.len(), folder.display());
    out::message(&format!("wrote {count} files with figures to {folder}"));
    Ok(())
}
