//! What commands answer about traces of block devices.

use domio_answer::{Answered, Inner, Sentence, rows};
use domio_meter::block::{BlockComparison, BlockSummary, BlockWaits};
use domio_replay::block::LeftOut;
use domio_report::block_opening;

rows! {
    /// What `domio trace summary` says.
    #[derive(Clone, Debug, Default)]
    pub struct SummedUp {
        /// Format of the trace.
        pub format: String = fact("format");
        /// Damaged places that were left out.
        pub damaged_places: u64 = count("damaged_places");
        /// The sums.
        pub summary: BlockSummary = fact("summary");
    }

    /// What `domio trace compare` says.
    #[derive(Clone, Debug, Default)]
    pub struct ComparedTraces {
        /// Names of the traces.
        pub names: [String; 2] = fact("names");
        /// How alike they are.
        pub comparison: BlockComparison = fact("comparison");
    }

    /// What `domio trace replay` says.
    #[derive(Clone, Debug, Default)]
    pub struct Replayed {
        /// Format of the trace.
        pub format: String = fact("format");
        /// Damaged places that were left out.
        pub damaged_places: u64 = count("damaged_places");
        /// Name of the elevator.
        pub elevator: String = fact("elevator");
        /// Name of the drive.
        pub drive: String = fact("drive");
        /// Whether the loop was closed.
        pub closed: bool = fact("closed");
        /// What was not replayed as it is in the trace.
        pub left_out: LeftOut = fact("left_out");
        /// What was asked of the drive.
        pub summary: Inner<BlockSummary> = fact("summary");
        /// What requests waited for.
        pub waits: Inner<BlockWaits> = fact("waits");
    }
}

impl SummedUp {
    pub fn answer(&self) -> Answered {
        let doc = "What `domio trace summary --json` prints about a block trace.";
        Answered::of("block-summary", 2, doc, self)
    }
}

impl ComparedTraces {
    pub fn answer(&self) -> Answered {
        let doc = "What `domio trace compare --json` prints about two block traces.";
        Answered::of("block-compare", 2, doc, self)
    }
}

impl Replayed {
    pub fn answer(&self) -> Answered {
        let doc = "What `domio trace replay --json` prints about a block trace.";
        let answer = Answered::of("block-replay", 2, doc, self);
        untold(answer, &self.waits.0)
    }
}

/// What `domio explain` says of a block trace.
pub fn explained(waits: &BlockWaits) -> Answered {
    let doc = "What `domio explain --json` prints about a block trace.";
    untold(Answered::of("block-explain", 2, doc, waits), waits)
}

/// The answer with the worst waits, and what the trace does not say.
fn untold(answer: Answered, waits: &BlockWaits) -> Answered {
    let worst = block_opening::worst(waits).into_iter().map(Sentence::new);
    let untold = waits.untold().into_iter();
    let untold = untold.map(|what| Sentence::new(format!("The trace does not record {what}.")));
    Answered {
        findings: worst.chain(untold).collect(),
        ..answer
    }
}
