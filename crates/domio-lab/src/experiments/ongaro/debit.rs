//! Section 3.3: a guest that blocks before each tick is never debited.

use crate::claims::Claim;
use crate::ledger::Finding;
use crate::proof::Proof;
use crate::registry::Registry;
use crate::sample::Samples;
use crate::series::Series;
use crate::tolerance::Tolerance;

/// Part of each tick that the dodging guest uses, in milliseconds.
const USES: [u64; 3] = [1, 5, 9];
/// What never happens to a guest that no tick finds running.
const NEVER: [(&str, &str); 3] = [
    ("dodger.waiting_pct", "time spent waiting"),
    ("boost_ends", "boosts that ended"),
    ("earning_starts", "charges"),
];
/// What a share may differ from the demand: one tick in two hundred.
const DEMAND_TOLERANCE: f64 = 0.5;

const CAUGHT: &str = "ongaro.debit.9ms-caught";
const EXACT: &str = "ongaro.debit.9ms-caught-exact-debit";

/// Adds the check.
pub fn register(registry: &mut Registry) {
    let names = USES.map(never_caught);
    let [a, b, c] = &names;
    registry.check(
        "ongaro.debit.sampling",
        &[a, b, c, CAUGHT, EXACT],
        never_debited,
    );
}

fn never_caught(use_ms: u64) -> String {
    format!("ongaro.debit.{use_ms}ms")
}

/// Holds when, whatever the guest uses between ticks, it gets just that from the burning one, never
/// waits for it, and no tick ends its boost or charges it.
fn never_debited(samples: &Samples<'_>, _: &Claim) -> Finding {
    let share = |name: &str| {
        let told = format!("share of the guest of {name}");
        Series::of(
            samples,
            name,
            "dodger.share_pct",
            told,
            "% of the processor",
        )
    };
    let mut proof = Proof::new(samples.risk());
    let mut shares = Vec::new();
    for use_ms in USES {
        let name = never_caught(use_ms);
        let asked = use_ms as f64 * 100.0 / 10.0;
        let used = share(&name);
        proof.near(&used, asked, Tolerance::Absolute(DEMAND_TOLERANCE));
        for (key, what) in NEVER {
            let what = format!("{what} of the guest of {name}");
            proof.never(&Series::of(samples, &name, key, what, ""));
        }
        let told = format!("wake-ups of the guest of {name}");
        proof.above(&Series::of(samples, &name, "wake_ups", told, ""), 0.0);
        shares.push(format!("{use_ms} ms: {}", used.shown()));
    }
    let [.., most] = USES;
    let how = format!(
        "its share by use between ticks, beside a guest that burns: {}; never charged, never kept \
         waiting. Found running by five ticks a second it still has {}, and {} under the exact \
         debit of 4.0",
        shares.join(", "),
        share(CAUGHT).shown(),
        share(EXACT).shown()
    );
    proof.finding_on(&share(&never_caught(most)), &how)
}
