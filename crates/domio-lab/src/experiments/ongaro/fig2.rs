//! Figure 2: seven guests that burn.

use super::super::members;
use crate::claims::Claim;
use crate::ledger::Finding;
use crate::proof::Proof;
use crate::registry::Registry;
use crate::sample::Samples;
use crate::series::Series;
use crate::tolerance::Tolerance;

const FAIRNESS: &str = "ongaro.fig2.burn7";
const GUESTS: u32 = 7;

/// Adds the check.
pub fn register(registry: &mut Registry) {
    registry.check("ongaro.fig2.cpu-fairness", &[FAIRNESS], fairness);
}

/// Holds when the interval of every guest's share is within the tolerance around one seventh.
fn fairness(samples: &Samples<'_>, claim: &Claim) -> Finding {
    let fair = 100.0 / f64::from(GUESTS);
    let Some(tolerance) = claim.tolerance.as_deref().and_then(Tolerance::parse) else {
        return Finding::unknown("the claim has no tolerance to decide by");
    };
    let share = |guest: &String| {
        let key = format!("{guest}.share_pct");
        Series::of(samples, FAIRNESS, &key, format!("share of {guest}"), "%")
    };
    let shares: Vec<Series> = members("guest", GUESTS).iter().map(share).collect();
    let mut proof = Proof::new(samples.risk());
    for share in &shares {
        proof.near(share, fair, tolerance);
    }
    let mean = |share: &Series| share.estimate().map_or(fair, |e| e.mean);
    let distance = |share: &Series| (mean(share) - fair).abs();
    let farthest = shares
        .iter()
        .max_by(|a, b| distance(a).total_cmp(&distance(b)));
    let Some(farthest) = farthest else {
        return Finding::unknown("no guest was measured");
    };
    let list: Vec<String> = shares.iter().map(|s| format!("{:.2}", mean(s))).collect();
    let how = format!(
        "the share of each guest; the one farthest from {fair:.2} is shown; all seven: {}",
        list.join(", ")
    );
    proof.finding_on(farthest, &how)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Claims;
    use crate::ledger::Verdict;
    use crate::sample::Sample;

    fn verdict(last: f64) -> Verdict {
        let claims = Claims::shipped();
        let claim = claims.find("ongaro.fig2.cpu-fairness").unwrap();
        let sample = |shift: f64| {
            let mut sample = Sample::new();
            for guest in members("guest", GUESTS) {
                sample.set(&format!("{guest}.share_pct"), 14.3 + shift);
            }
            sample.with("guest7.share_pct", last + shift)
        };
        let list = [sample(0.0), sample(0.01), sample(-0.01)];
        fairness(&Samples::new([(FAIRNESS, &list[..])]), claim).verdict
    }

    #[test]
    fn one_guest_out_of_bounds_is_unfair() {
        assert_eq!(verdict(14.2), Verdict::Holds);
        assert_eq!(
            verdict(15.27),
            Verdict::Undecided,
            "the interval ends beyond the tolerance, but begins inside"
        );
        assert_eq!(verdict(12.0), Verdict::Fails);
    }
}
