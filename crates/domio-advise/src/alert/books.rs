//! What debits and grants of a policy that pays in credits come to, from its trace records and its
//! books.

use domio_contract::Credits;
use domio_scenario::Built;

/// How the policy of `built` pays vcpus, if it does so in credits.
fn credits(built: &Built) -> Option<Credits> {
    Some((built.policy.credits?)(&built.params))
}

/// What comes of debiting by ticks: `ticks` of them found dom1 running, which executed for `ran`
/// nanoseconds. Nothing under releases that measure, and where both are the same.
pub(super) fn sampled(built: &Built, ticks: u64, ran: u64) -> Option<String> {
    let tick = credits(built)?.tick?;
    // The first release writes no record at its ticks.
    if ran == 0 || ticks == 0 {
        return None;
    }
    let charged = ticks as f64 * tick.as_nanos() as f64;
    let off = (charged / ran as f64 - 1.0) * 100.0;
    (off.abs() >= 0.5).then(|| {
        format!(
            "time is debited by ticks: {ticks} of them found it running and took {} ms each, \
             {:.2} s together, while it executed for {:.2} s: it paid for {off:+.1} %",
            tick.as_nanos() / 1_000_000,
            charged / 1e9,
            ran as f64 / 1e9
        )
    })
}

/// What accounting gives, from the credits that the books of an excerpt show one after the other:
/// the usual grant, where `allocated` percent are allocated, and whether a debt was forgiven.
pub(super) fn earned(built: &Built, held: &[i64], allocated: f64) -> Vec<String> {
    let mut told = Vec::new();
    let Some(paid) = credits(built) else {
        return told;
    };
    let grants = || held.windows(2).map(|pair| (pair[0], pair[1] - pair[0]));
    let rises = || grants().filter(|(_, grant)| *grant > 0);
    let count = |grant: i64| rises().filter(|(_, other)| *other == grant).count();
    let Some((_, usual)) = rises().max_by_key(|(_, grant)| count(*grant)) else {
        return told;
    };
    if count(usual) < 2 {
        return told;
    }
    let slice = paid.credits;
    let slice_ms = paid.period.as_nanos() / 1_000_000;
    let percent = usual as f64 / slice as f64 * 100.0;
    let rounded = match (percent - allocated).abs() > 0.005 * allocated {
        true => format!(", where {allocated:.0} % are allocated: credits are whole numbers"),
        false => String::new(),
    };
    told.push(format!(
        "each accounting gives it {usual} of the {slice} credits of {slice_ms} ms, which is \
         {percent:.2} %{rounded}"
    ));
    let floor = -slice;
    let forgiven =
        grants().find(|(before, grant)| before + usual < floor && before + grant == floor);
    if let Some((before, _)) = forgiven {
        told.push(format!(
            "a debt beyond {slice} credits is forgiven: accounting made {before} into {floor}, and \
             not into {}",
            before + usual
        ));
    }
    told
}
