//! `domio reproduce --machines`: claims on many machines that their papers allow.

use crate::out;
use anyhow::{anyhow, bail};
use domio_papers::folders::PaperFolder;
use domio_papers::paper::{self, Length, MachinePart, MachineSearch, Paper};
use domio_papers::reproduce::Options;
use domio_papers::{Claim, ClaimLedger};
use domio_run::Replicator;

/// Decides the claims of each of `papers` that has unknowns on `count` machines, or on a part of
/// them; `central` is what they are on the central one.
///
/// # Errors
/// When no paper of these claims has unknowns.
pub fn search(
    claims: &[&Claim],
    central: &ClaimLedger,
    papers: &[PaperFolder],
    (count, part): (u32, MachinePart),
    setup: (Length, Options),
    replicator: &impl Replicator,
) -> anyhow::Result<Vec<MachineSearch>> {
    let mut searches = Vec::new();
    for folder in papers {
        let paper = Paper::read(folder).map_err(|e| anyhow!(e))?;
        let decided = |claim: &&&Claim| {
            let entry = central.entries.iter().find(|e| e.claim.id == claim.id);
            let checked = entry.is_some_and(|e| !e.finding.checks.is_empty());
            claim.paper() == paper.id && checked
        };
        let own: Vec<&Claim> = claims.iter().filter(decided).copied().collect();
        if paper.unknowns.is_empty() || own.is_empty() {
            continue;
        }
        let known = |id: &str| own.iter().any(|claim| claim.id == id);
        let mut central = central.clone();
        central.entries.retain(|entry| known(&entry.claim.id));
        let of_them = match part {
            MachinePart::ALL => String::new(),
            MachinePart { number, of } => format!(", part {number} of {of}"),
        };
        out::message(&format!(
            "deciding {} claims on {count} machines{of_them}",
            own.len()
        ));
        let machines = (count, part);
        let found = paper::search(folder, (&own, &central), machines, setup, replicator);
        searches.push(found.map_err(|e| anyhow!(e))?);
    }
    if searches.is_empty() {
        bail!("no paper of these claims declares unknowns, so that there is one machine alone");
    }
    Ok(searches)
}
