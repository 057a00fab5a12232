//! What jobs do, and what their files say.

use domio_core::{Duration, Instant};
use domio_vmm::process::programs::{Fio, FioConfig, FioFile};
use domio_vmm::process::{Context, Directories, FileId, FileSizes, Op, Program, What};

/// Calls of a process whose calls take 1 ms each, with the times (ms) at which they are made.
fn run(config: FioConfig, index: u32) -> Vec<(u64, What)> {
    let file = FileId { device: 0, file: 0 };
    let mut program = Fio::new(file, config, index);
    let mut cx = Context {
        now: Instant::ZERO,
        returned: 0,
    };
    let mut calls = Vec::new();
    for _ in 0..100_000 {
        match program.next(&cx) {
            Op::Call(call) => {
                calls.push((cx.now.as_nanos() / 1_000_000, call.what));
                cx.now += Duration::from_millis(1);
                cx.returned = match call.what {
                    What::Read { bytes, .. } | What::Write { bytes, .. } => bytes,
                    _ => 0,
                };
            }
            Op::SleepUntil(at) => cx.now = cx.now.max(at),
            Op::Report { .. } => {}
            Op::Exit => return calls,
            op => panic!("{op:?}"),
        }
    }
    panic!("the job never ends");
}

fn job(text: &str) -> FioConfig {
    let file = FioFile::read(text).unwrap_or_else(|problems| panic!("{problems:?}"));
    file.jobs[0].config
}

fn offsets(calls: &[(u64, What)]) -> Vec<u64> {
    let of = |(_, what): &(u64, What)| match what {
        What::Read { offset, .. } | What::Write { offset, .. } => Some(*offset),
        _ => None,
    };
    calls.iter().filter_map(of).collect()
}

fn times(calls: &[(u64, What)]) -> Vec<u64> {
    calls.iter().map(|(ms, _)| *ms).collect()
}

#[test]
fn a_sequential_job_reads_its_part_of_the_file_once() {
    let calls = run(job("[j]\nbs=4k\nsize=16k\noffset=8k\n"), 0);
    assert_eq!(offsets(&calls), [8192, 12288, 16384, 20480]);
    assert!(
        calls
            .iter()
            .all(|(_, what)| matches!(what, What::Read { bytes: 4096, .. }))
    );
}

#[test]
fn lanes_make_every_nth_call_and_all_of_them_together() {
    let config = job("[j]\nioengine=libaio\niodepth=3\nbs=4k\nsize=28k\nnumjobs=2\n");
    assert_eq!((config.lanes(), config.processes()), (3, 6));
    let lanes: Vec<Vec<u64>> = (0..3).map(|lane| offsets(&run(config, lane))).collect();
    assert_eq!(
        lanes,
        [vec![0, 12288, 24576], vec![4096, 16384], vec![8192, 20480]]
    );
    assert_eq!(offsets(&run(config, 3)), lanes[0], "clones do the same");
    let sync = job("[j]\nioengine=psync\niodepth=3\n");
    assert_eq!(sync.lanes(), 1, "an engine that waits has no depth");
    let apart = job("[j]\nsize=4k\nnumjobs=2\noffset_increment=1m\n");
    assert_eq!(offsets(&run(apart, 1)), [1 << 20]);
}

#[test]
fn clones_have_files_of_their_own_that_are_there_before() {
    let config = job("[j]\nbs=4k\nsize=8k\noffset=4k\noffset_increment=1m\nnumjobs=3\n");
    assert_eq!(config.end(), (2 << 20) + 12 * 1024);
    assert_eq!(
        (config.prepare(1).files, config.prepare(1).size(0)),
        (3, config.end())
    );
    let disk = FileId { device: 2, file: 0 };
    let mut program = Fio::new(disk, config, 1).on_a_file(7);
    let mut cx = Context {
        now: Instant::ZERO,
        returned: 0,
    };
    let Op::Call(call) = program.next(&cx) else {
        panic!("the file is looked for first");
    };
    let What::Prepare(prepare) = call.what else {
        panic!("{call:?}");
    };
    assert_eq!((call.file, prepare.files, prepare.series), (disk, 3, 7));
    let alike = FileSizes::Between(config.end(), config.end());
    assert_eq!(
        (prepare.sizes, prepare.directories),
        (alike, Directories::Root)
    );
    cx.returned = 40;
    let Op::Call(call) = program.next(&cx) else {
        panic!("the job begins");
    };
    assert_eq!((call.file.device, call.file.file), (2, 41));
    assert_eq!(
        call.what,
        What::Read {
            offset: (1 << 20) + 4096,
            bytes: 4096
        }
    );
}

#[test]
fn random_places_are_blocks_of_the_part() {
    let calls = run(
        job("[j]\nrw=randwrite\nbs=8k\nsize=64k\noffset=1m\nio_size=1m\n"),
        0,
    );
    let offsets = offsets(&calls);
    assert_eq!(offsets.len(), 128);
    let fits = |at: &u64| at.is_multiple_of(8192) && (1 << 20..(1 << 20) + 65536).contains(at);
    assert!(offsets.iter().all(fits), "{offsets:?}");
    let mut places = offsets;
    places.sort_unstable();
    places.dedup();
    assert_eq!(places.len(), 8, "every place is met");
}

#[test]
fn mixes_have_their_percentage_and_each_way_its_own_place() {
    let calls = run(job("[j]\nrw=rw\nrwmixread=75\nbs=4k\nsize=4m\n"), 0);
    let reads = calls
        .iter()
        .filter(|(_, w)| matches!(w, What::Read { .. }))
        .count();
    assert!((700..=836).contains(&reads), "{reads} of {}", calls.len());
    let writes = calls
        .iter()
        .filter(|(_, w)| matches!(w, What::Write { .. }));
    let writes: Vec<(u64, What)> = writes.copied().collect();
    let expected: Vec<u64> = (0..writes.len() as u64).map(|i| i * 4096).collect();
    assert_eq!(offsets(&writes), expected);
    let other = job("[j]\nrwmixwrite=10\nrw=randrw\n");
    assert_eq!((other.reads, other.random), (90, true));
}

#[test]
fn rates_and_thought_take_their_time() {
    let paced = run(job("[j]\nrate_iops=100\nbs=4k\nsize=16k\n"), 0);
    assert_eq!(times(&paced), [0, 10, 20, 30]);
    let paced = run(job("[j]\nrate=4000ki\nbs=40000\nsize=120000\n"), 0);
    assert_eq!(times(&paced), [0, 10, 20]);
    let thinks = run(
        job("[j]\nthinktime=5ms\nthinktime_blocks=2\nbs=4k\nsize=20k\n"),
        0,
    );
    assert_eq!(times(&thinks), [0, 1, 7, 8, 14]);
    let late = run(job("[j]\nstartdelay=1\nsize=4k\n"), 0);
    assert_eq!(times(&late), [1000]);
}

#[test]
fn a_job_ends_with_its_bytes_or_its_time() {
    let short = run(job("[j]\nbs=4k\nsize=1g\nruntime=10ms\n"), 0);
    assert_eq!(short.len(), 10);
    let again = run(job("[j]\nbs=4k\nsize=8k\nruntime=5ms\ntime_based\n"), 0);
    assert_eq!(offsets(&again), [0, 4096, 0, 4096, 0]);
}

#[test]
fn writes_are_flushed_where_the_job_says_so() {
    let calls = run(
        job("[j]\nrw=write\nbs=4k\nsize=16k\nfsync=2\nend_fsync=1\n"),
        0,
    );
    let kinds: Vec<bool> = calls.iter().map(|(_, w)| *w == What::Sync).collect();
    assert_eq!(kinds, [false, false, true, false, false, true]);
    let reads = run(job("[j]\nbs=4k\nsize=8k\nend_fsync=1\n"), 0);
    assert_eq!(reads.len(), 2, "nothing to flush");
}

#[test]
fn jobs_inherit_what_global_sections_before_them_say() {
    let text = "; comment\n[global]\nbs=8k,16k\ndirect=1\n\n[a]\nrw=randread\n# comment\n[global]\n\
                size=2g\n[b]\nrw=write\nbs=1m\n";
    let file = FioFile::read(text).unwrap();
    let [a, b] = &file.jobs[..] else {
        panic!("{file:?}")
    };
    assert_eq!(
        (a.name.as_str(), a.config.block, a.config.size),
        ("a", (8192, 16384), 1 << 30)
    );
    assert_eq!(
        (b.name.as_str(), b.config.block, b.config.size),
        ("b", (1 << 20, 1 << 20), 2 << 30)
    );
    assert!(a.config.direct && b.config.direct && a.config.random && !b.config.random);
    assert_eq!(file.notes, []);
}

#[test]
fn keys_without_effect_are_told_with_their_lines() {
    let file = FioFile::read("[j]\nsize=1m\ngroup_reporting\nbanana=3\n").unwrap();
    let told: Vec<String> = file.notes.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "line 3: group_reporting is of fio's report, and changes no request",
            "line 4: banana is no key that domio knows, and changes nothing",
        ]
    );
}

/// A comment may be behind a value, as in fio.
#[test]
fn comments_end_values() {
    let config = job("[j] ; a job\nrw=randread # at random\nbs=8k   ; small ones\nsize=1m;\n");
    assert_eq!(
        (config.random, config.block.0, config.size),
        (true, 8192, 1 << 20)
    );
}

#[test]
fn each_way_has_its_own_value() {
    let rates = |rw: &str| {
        let config = job(&format!("[j]\nrw={rw}\nrate=1m,2m,3m\nrate_iops=,50\n"));
        (config.rate, config.rate_iops)
    };
    assert_eq!(rates("randread"), (Some(1 << 20), None));
    assert_eq!(rates("write"), (Some(2 << 20), Some(50)));
    let why = FioFile::read("[j]\nrw=rw\nrate=1m,2m\n").unwrap_err();
    assert!(
        why[0].line == 3 && why[0].why.contains("one rate for both ways"),
        "{why:?}"
    );
    assert_eq!(job("[j]\nrw=rw\nrate=1m,1m\n").rate, Some(1 << 20));
    assert_eq!(job("[j]\nbs=,8k\n").block, (4096, 8192));
    assert_eq!(job("[j]\nsize=8m\nio_size=50%\n").io_size, Some(4 << 20));
}

/// `rw=read:8k` leaves 8 KiB out behind each call; a negative step goes from the end to the begin.
#[test]
fn sequential_jobs_may_leave_out_or_go_back() {
    let places = |text| {
        let calls = run(job(text), 0);
        offsets(&calls)
    };
    assert_eq!(
        places("[j]\nrw=read:4k\nsize=16k\nio_size=12k\n"),
        [0, 8192, 0]
    );
    assert_eq!(
        places("[j]\nrw=read:-8k\nsize=16k\nio_size=16k\n"),
        [8192, 4096, 0, 8192]
    );
    let why = FioFile::read("[j]\nrw=read:-4k\n").unwrap_err();
    assert!(why[0].why.contains("more than a block"), "{why:?}");
}

/// What would make other requests is refused, each in its line, with what comes nearest.
#[test]
fn keys_that_make_other_requests_are_refused() {
    for (lines, says) in [
        ("bsrange=4k-64k", "bssplit=4k/50:64k/50"),
        ("bssplit=4k/60:1m/50", "100 together at most"),
        ("bssplit=4k/x", "sizes with percentages"),
        ("bssplit=0/100", "sizes with percentages"),
        ("rw=randread\nrandom_distribution=zipf:1.2", "drawn evenly"),
        ("rw=randrw\npercentage_random=50", "a job for each part"),
        ("rw=write\nsync=1", "fsync=1"),
        ("rw=write\nsync=dsync", "fsync=1"),
        ("size=50%", "the job works on a file"),
        ("direct=1\noffset=101%", "0 to 100"),
        ("rw=randread:8", "draws its place"),
        ("nrfiles=10", "use numjobs"),
        ("zonemode=zbd", "no zones"),
        ("verify=crc32c", "not read again"),
        ("read_iolog=x", "io-replay"),
    ] {
        let text = format!("[j]\n{lines}\n");
        let why = FioFile::read(&text).expect_err(lines);
        assert_eq!(why.len(), 1, "{why:?}");
        assert_eq!(why[0].line, text.lines().count(), "{why:?}");
        assert!(why[0].why.contains(says), "{lines}: {why:?}");
    }
    // Where they change nothing, they are taken.
    for (lines, block) in [
        ("bssplit=8k/100", (8192, 8192)),
        ("bssplit=8k/40:8k/60", (8192, 8192)),
        ("bsrange=8k-8k,16k-16k", (8192, 16384)),
        ("rw=read\nsync=1", (4096, 4096)),
        ("rw=randread\npercentage_random=100", (4096, 4096)),
        ("rw=randread\nrandom_distribution=random", (4096, 4096)),
    ] {
        let file = FioFile::read(&format!("[j]\n{lines}\n")).expect(lines);
        assert_eq!(
            (file.jobs[0].config.block, file.notes.len()),
            (block, 0),
            "{lines}"
        );
    }
    // What is left out is named, with what a job does instead.
    let file = FioFile::read("[j]\nstonewall\nloops=3\n").unwrap();
    assert_eq!(
        file.notes[0].to_string(),
        "line 2: stonewall is left out: all jobs begin together: use startdelay"
    );
    assert_eq!(file.notes.len(), 2);
}

/// Each call draws its size by the percentages; random places are multiples of the smallest size,
/// and no call goes beyond the end.
#[test]
fn a_mix_of_sizes_is_drawn_for_each_call() {
    let text = "[j]\nrw=randread\nsize=64m\nio_size=512m\nbssplit=4k/75:64k\n";
    let calls = run(job(text), 0);
    let of = |what: &What| match what {
        What::Read { offset, bytes } => (*offset, *bytes),
        what => panic!("{what:?}"),
    };
    let all: Vec<(u64, u64)> = calls.iter().map(|(_, what)| of(what)).collect();
    let small = all.iter().filter(|(_, bytes)| *bytes == 4096).count() as f64;
    let share = small / all.len() as f64;
    assert!(all.len() > 20_000, "{}", all.len());
    assert!((0.74..0.76).contains(&share), "{share}");
    let is_within = |(offset, bytes): &(u64, u64)| {
        let whole = offset % 4096 == 0 && [4096, 65536].contains(bytes);
        whole && offset + bytes <= 64 << 20
    };
    assert!(all.iter().all(is_within));
    // Long calls begin anywhere, too.
    assert!(
        all.iter()
            .any(|(offset, bytes)| *bytes == 65536 && offset % 65536 != 0)
    );
    let again = run(job(text), 0);
    assert_eq!(calls, again, "one stream, one job");
}

#[test]
fn ways_have_mixes_of_their_own_and_sequential_calls_follow_each_other() {
    let config = job("[j]\nrw=read\nsize=256k\nbs=1m\nbssplit=4k/50:8k/50,16k/100\n");
    assert_eq!(config.block, (4096, 16384));
    assert!(config.mix[0].is_some() && config.mix[1].is_none());
    let calls = run(config, 0);
    let mut next = 0;
    for (_, what) in &calls {
        let What::Read { offset, bytes } = what else {
            panic!("{what:?}");
        };
        assert!(*offset == next || *offset == 0, "{what:?} after {next}");
        next = offset + bytes;
    }
    let lanes = "[j]\nioengine=libaio\niodepth=4\nbssplit=4k/50:8k/50\n";
    let why = FioFile::read(lanes).unwrap_err();
    assert!(why[0].why.contains("iodepth=1"), "{why:?}");
    assert!(FioFile::read("[j]\nsize=64k\nbssplit=4k/50:128k/50\n").is_err());
}

#[test]
fn mistakes_are_told_all_at_once_with_their_lines() {
    let text = "bs=4k\n[a\n[b]\nrw=sideways\nbs=four\nsize=${SIZE}\nioengine=rdma\n[c]\nsize=1k\n\
                [d]\ntime_based\n[e]\nrwmixread=101\nnumjobs=-1\nthinktime=1w\ndirect=2\n";
    let problems = FioFile::read(text).unwrap_err();
    let lines: Vec<usize> = problems.iter().map(|p| p.line).collect();
    assert_eq!(lines, [1, 2, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16]);
    assert_eq!(
        problems[2].to_string(),
        "line 4: rw=sideways: expected read, write, rw, randread, randwrite or randrw"
    );
    assert!(FioFile::read("").unwrap_err()[0].why.contains("no job"));
}

#[test]
fn units_are_those_of_fio() {
    let sizes = [
        ("512", Some(512)),
        ("4k", Some(4096)),
        ("4K", Some(4096)),
        ("4kb", Some(4096)),
        ("4ki", Some(4000)),
        ("1m", Some(1 << 20)),
        ("2GiB", Some(2_000_000_000)),
        ("7b", Some(7)),
        ("4kk", None),
        ("k", None),
        ("50%", None),
        ("99999999999g", None),
        ("1µ", None),
    ];
    let read = |line: &str| {
        let file = FioFile::read(&format!("[j]\nbs=1\n{line}\n")).ok();
        file.map(|file| file.jobs[0].config)
    };
    for (text, bytes) in sizes {
        let config = read(&format!("offset_increment={text}"));
        assert_eq!(config.map(|config| config.offset.1), bytes, "{text}");
    }
    // A number alone is seconds, and for the time of thought microseconds.
    let runtime = |text: &str| read(&format!("runtime={text}")).map(|config| config.runtime);
    assert_eq!(runtime("30"), Some(Some(Duration::from_secs(30))));
    assert_eq!(runtime("2m"), Some(Some(Duration::from_secs(120))));
    assert_eq!(runtime("50us"), Some(Some(Duration::from_micros(50))));
    assert_eq!(runtime("5w"), None);
    let think = read("thinktime=30").map(|config| config.think.0);
    assert_eq!(think, Some(Duration::from_micros(30)));
}

/// Whatever a file says, reading it ends without a panic, and what is read has no fault.
#[test]
fn no_text_does_harm() {
    let words = [
        "[",
        "]",
        "[global]",
        "[j]",
        "=",
        "bs",
        "size",
        "0",
        "18446744073709551615",
        "4k",
        "%",
        "\n",
        "\n",
        "rw=",
        "randrw",
        "iodepth=",
        "rate=",
        "rw=read:-",
        "bssplit=4k/",
        ",",
        "é",
        ";",
        "${X}",
        "runtime=9999999999d",
    ];
    let mut state = 7u64;
    for _ in 0..20_000 {
        let mut text = String::new();
        for _ in 0..12 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            text += words[(state >> 33) as usize % words.len()];
        }
        if let Ok(file) = FioFile::read(&text) {
            assert!(
                file.jobs.iter().all(|job| job.config.fault().is_none()),
                "{text:?}"
            );
        }
    }
}
