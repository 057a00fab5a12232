//! `domio reproduce --machines`: claims on many machines that their papers allow.

use crate::args::Global;
use crate::out;
use crate::progress::progress;
use anyhow::bail;
use domio_lab::paper::{self, Length, MachineSearch};
use domio_lab::reproduce::Options;
use domio_lab::store::Keeper;
use domio_lab::{Claim, ClaimLedger};

/// Decides the claims of each paper that has unknowns on `count` machines; `central` is what they
/// are on the central one.
///
/// # Errors
/// When no paper of these claims has unknowns.
pub fn search(
    claims: &[&Claim],
    central: &ClaimLedger,
    count: u32,
    (length, options, keeper): (Length, Options, &Keeper),
    global: &Global,
) -> anyhow::Result<Vec<MachineSearch>> {
    let mut searches = Vec::new();
    for paper in paper::shipped() {
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
        out::message(&format!(
            "deciding {} claims on {count} machines",
            own.len()
        ));
        let progress = progress(global);
        searches.push(paper::search(
            &paper,
            (&own, &central),
            count,
            (length, options, keeper),
            &*progress,
        ));
    }
    if searches.is_empty() {
        bail!("no paper of these claims declares unknowns, so that there is one machine alone");
    }
    Ok(searches)
}
