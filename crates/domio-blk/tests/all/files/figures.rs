//! PostMark and FFSB on the bench, compared with what the block layer of a kernel saw (disk-spec
//! 4.4). That kernel was 6.18 with ext3 by the driver of ext4: mix and sizes are compared, not sync
//! flags nor times.

use super::bench::{Bench, Event, Plain, Sent};
use domio_blk::elevator::IoWay;
use domio_blk::fs::config::FsConfig;
use domio_core::Duration;
use domio_sim::RandomStream;
use domio_vmm::process::programs::{Ffsb, FfsbConfig, FfsbWeights, PostMark, PostMarkConfig};
use domio_vmm::process::{FileId, FileSizes, Program};
use std::ops::RangeInclusive;

const DISK: FileId = FileId { device: 0, file: 0 };

/// Sectors of a block group.
const GROUP: u64 = 1 << 18;

/// Sectors of bitmaps, inode table and the block of a directory, at the beginning of each group.
const HEAD: u64 = 516 * 8;

/// Requests of one kind.
#[derive(Clone, Copy, Default, Debug)]
struct Sum {
    requests: u64,
    sectors: u64,
}

impl Sum {
    fn kib(&self) -> f64 {
        self.sectors as f64 / 2.0 / self.requests.max(1) as f64
    }
}

/// What a drive was asked for.
#[derive(Clone, Copy, Default, Debug)]
struct Mix {
    /// Reads of data: of one page, and of more.
    small: Sum,
    large: Sum,
    read_meta: Sum,
    data: Sum,
    meta: Sum,
    journal: Sum,
}

impl Mix {
    fn add(&mut self, sent: &Sent) {
        let head = sent.meta || sent.sector % GROUP < HEAD;
        let kind = match sent.way {
            IoWay::Read if head => &mut self.read_meta,
            IoWay::Read if sent.sectors == 8 => &mut self.small,
            IoWay::Read => &mut self.large,
            IoWay::Write if sent.sector / GROUP == 1 => &mut self.journal,
            IoWay::Write if head => &mut self.meta,
            IoWay::Write => &mut self.data,
        };
        kind.requests += 1;
        kind.sectors += u64::from(sent.sectors);
    }

    /// All of `events`, from the one with this number on.
    fn of(bench: &Bench, from: usize) -> Mix {
        let mut mix = Mix::default();
        for (_, event) in &bench.events.as_ref().unwrap()[from..] {
            if let Event::Sent(sent) = event {
                mix.add(sent);
            }
        }
        mix
    }
}

#[track_caller]
fn within(what: &str, got: f64, range: RangeInclusive<f64>) {
    assert!(range.contains(&got), "{what}: {got:.3}, not {range:?}");
}

/// Runs PostMark with 40,000 files in 200 directories. Returns its requests before transactions
/// begin, and for each of 17,000 transactions.
fn postmark(config: FsConfig) -> (Mix, Mix, Duration) {
    let mut bench = Bench::new(config, "noop", Plain::Capped(200));
    let mut mark = PostMark::new(
        DISK,
        PostMarkConfig {
            files: 40_000,
            transactions: Some(17_000),
            subdirectories: 200,
            ..PostMarkConfig::DEFAULT
        },
    );
    mark.seed(RandomStream::new(1, 0, "postmark"));
    bench.add(mark);
    bench.events = Some(Vec::new());
    let mut begun = (bench.now, 0);
    let mut creation = Mix::default();
    while bench.reports < 17_000 {
        assert!(bench.next(), "PostMark goes on");
        if bench.reports == 0 {
            begun = (bench.now, bench.events.as_ref().unwrap().len());
        } else if creation.data.requests == 0 {
            creation = Mix::of(&bench, 0);
        }
    }
    (creation, Mix::of(&bench, begun.1), bench.now.since(begun.0))
}

/// Prints what `mix` is for each of `transactions`.
fn print(name: &str, mix: &Mix, transactions: f64) {
    println!("{name}");
    for (kind, sum) in [
        ("read, one page", mix.small),
        ("read, more", mix.large),
        ("read, metadata", mix.read_meta),
        ("write, data", mix.data),
        ("write, metadata", mix.meta),
        ("write, journal", mix.journal),
    ] {
        let each = sum.requests as f64 / transactions;
        println!("  {kind:16} {each:7.3} of {:6.1} KiB", sum.kib());
    }
}

/// The recorded guest reads as much as one with 90 MB of cache: its disk was a file through a loop
/// device, which caches all data a second time.
#[test]
fn postmark_reads_and_writes_as_recorded() {
    let recorded = FsConfig {
        memory: 126 << 20,
        background: 12,
        throttle: 24,
        ..FsConfig::guest(8 << 30)
    };
    let (creation, mix, time) = postmark(recorded);
    print("creation, all", &creation, 1.0);
    print("transactions, each", &mix, 17_000.0);
    println!("{:.1} transactions/s", 17e12 / time.as_nanos() as f64);
    let each = |sum: Sum| sum.requests as f64 / 17_000.0;
    // Recorded: 0.78 reads, 261 bursts of 390 KiB, which are 6.0 KiB for each transaction.
    within("reads", each(mix.small) + each(mix.large), 0.70..=0.85);
    within("journal, KiB a burst", mix.journal.kib(), 300.0..=450.0);
    let log = mix.journal.sectors as f64 / 2.0 / 17_000.0;
    within("journal, KiB a transaction", log, 4.5..=6.5);
    // Recorded: 6.4 KiB of data, in 0.80 writes of 8.0 KiB: there more of it is contiguous.
    let data = mix.data.sectors as f64 / 2.0 / 17_000.0;
    within("data, KiB a transaction", data, 5.5..=8.0);
    within("data, writes", each(mix.data), 0.8..=1.3);
    within("creation, KiB a write", creation.data.kib(), 30.0..=160.0);
}

#[test]
fn ffsb_reads_blocks_and_writes_blocks() {
    let mut bench = Bench::new(FsConfig::guest(8 << 30), "noop", Plain::Capped(300));
    let config = FfsbConfig {
        threads: 128,
        sizes: FileSizes::Between(2 << 20, 3 << 20),
        weights: FfsbWeights {
            read: 4,
            append: 1,
            ..FfsbConfig::DEFAULT.weights
        },
        read_random: true,
        write_random: true,
        alignio: true,
        ..FfsbConfig::DEFAULT
    };
    for i in 0..config.threads {
        let mut thread = Ffsb::new(DISK, config);
        thread.seed(RandomStream::new(1, i, "ffsb"));
        bench.add(thread);
    }
    bench.events = Some(Vec::new());
    bench.until(domio_core::Instant::ZERO + Duration::from_secs(60));
    let mix = Mix::of(&bench, 0);
    print("FFSB, each", &mix, bench.reports as f64);
    println!("{:.1} transactions/s", bench.reports as f64 / 60.0);
    // Recorded: reads of 4.1 KiB; writes of data of 6.0 KiB, most of one page and the rest appends
    // of 16 KiB, which are 20 KiB here unless a file ends with a page; bursts of 338 KiB.
    let reads = Sum {
        requests: mix.small.requests + mix.large.requests,
        sectors: mix.small.sectors + mix.large.sectors,
    };
    within("reads, KiB", reads.kib(), 4.0..=4.3);
    within("writes, KiB", mix.data.kib(), 5.0..=7.5);
    within("journal, KiB a burst", mix.journal.kib(), 200.0..=450.0);
}
