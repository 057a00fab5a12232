//! What comes out: settings with their figures, gains and commands.

use domio_answer::rows;
use domio_meter::Why;
use domio_stats::Estimate;
use domio_stats::gains::Gain;

rows! {
    /// A key of the scenario that a setting changes.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct AdvisedChange {
        /// The key.
        pub key: String = key("key");
        /// Its value on the host.
        pub from: String = fact("from");
        /// Its value under the setting.
        pub to: String = fact("to");
    }

    /// A setting that was tried, by replications that the search has not seen.
    #[derive(Clone, PartialEq, Debug)]
    pub struct AdvisedSetting {
        /// The setting in words.
        pub setting: String = key("setting");
        /// Whether it is advised: it helps, the help is proven and felt, and nobody loses more than
        /// the bound.
        pub advised: bool = fact("advised");
        /// The figure of the domain that is worst off.
        pub worst: Estimate = fact("worst");
        /// Name of that domain.
        pub worst_guest: String = fact("worst_guest").title("worst off");
        /// Difference from the host's own setting, paired by replication. The intervals of all
        /// settings hold together with 95 %.
        pub difference: Estimate = fact("difference");
        /// Whether the difference is beyond its interval.
        pub proven: bool = fact("proven");
        /// Whether the difference is large enough, and a domain in question feels some change for
        /// the better.
        pub felt: bool = fact("felt");
        /// The domain that loses most; null for none.
        pub payer: Option<String> = fact("payer").title("pays most");
        /// The part that this domain loses: of the time that it runs when it wants to, or of the
        /// figure, or of the 99 % quantile of its wake-ups.
        pub loss_pct: f64 = share("loss_pct").title("loses");
        /// What changes.
        pub changes: Vec<AdvisedChange> = parts("changes", []);
        /// Commands that apply the setting.
        pub apply: Vec<String> = parts("apply", [fact("command").doc("A command.")]);
        /// Commands that undo it.
        pub undo: Vec<String> = parts("undo", [fact("command").doc("A command.")]);
        /// Who gains and who pays, what matters most first.
        pub gains: Vec<Gain> = parts("gains", []);
    }

    /// What was asked, what was tried, and what came out.
    #[derive(Clone, PartialEq, Debug)]
    pub struct AdviceOutcome {
        /// Name of the scenario or trace.
        pub scenario: String = fact("scenario");
        /// Name of the policy.
        pub policy: String = fact("policy");
        /// Seed of the random streams.
        pub seed: u64 = fact("seed");
        /// Key of the figure that settings are judged by.
        pub figure: String = fact("figure");
        /// The figure for people.
        pub title: String = fact("title");
        /// Its unit.
        pub unit: String = fact("unit");
        /// Whether a larger value is better.
        pub more_is_better: bool = fact("more_is_better");
        /// The domains in question.
        pub guests: Vec<String> = parts("guests", [fact("guest").doc("Name of a domain.")]);
        /// Largest part that another domain may lose.
        pub bound_pct: f64 = share("bound_pct");
        /// Replications of each setting that is reported.
        pub replications: u32 = fact("replications");
        /// Replications that were simulated in all.
        pub evaluations: u64 = count("evaluations");
        /// Settings that were tried, beside the host's own.
        pub tried: u64 = count("tried");
        /// Whether time ended the search, so that another machine may try more or less.
        pub out_of_time: bool = fact("out_of_time");
        /// Whether replications differ at all.
        pub varies: bool = fact("varies");
        /// The figure of the domain that is worst off under the host's own setting.
        pub worst: Estimate = fact("worst");
        /// Name of that domain.
        pub worst_guest: String = fact("worst_guest");
        /// What this domain waits for most; null where it does not wait.
        pub cause: Option<Why> = fact("cause");
        /// The domain behind which it waits most; null for none.
        pub behind: Option<String> = fact("behind");
        /// The settings, those that are advised first, the best first.
        pub settings: Vec<AdvisedSetting> = parts("settings", []);
    }
}
