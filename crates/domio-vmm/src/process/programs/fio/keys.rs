//! Keys of fio that no job here has: those that are left out, with what a job does instead, and
//! those that would make other requests, which are refused. Source: `fio(1)` of version 3.33.

/// Keys of fio's report, of its checks, of how files are laid down before the time of a job begins:
/// no request is another.
const OF_REPORT: [&str; 46] = [
    "allow_file_create",
    "block_error_percentiles",
    "bwavgtime",
    "clat_percentiles",
    "clocksource",
    "continue_on_error",
    "create_fsync",
    "create_on_open",
    "create_only",
    "create_serialize",
    "description",
    "directory",
    "disable_bw_measurement",
    "disable_clat",
    "disable_lat",
    "disable_slat",
    "disk_util",
    "eta",
    "exitall_on_error",
    "fallocate",
    "filename_format",
    "group_reporting",
    "gtod_reduce",
    "iopsavgtime",
    "kb_base",
    "lat_percentiles",
    "log_avg_msec",
    "log_hist_msec",
    "log_max_value",
    "log_offset",
    "log_unix_epoch",
    "name",
    "new_group",
    "overwrite",
    "percentile_list",
    "per_job_logs",
    "randrepeat",
    "randseed",
    "slat_percentiles",
    "stats",
    "status-interval",
    "unlink",
    "write_bw_log",
    "write_hist_log",
    "write_iops_log",
    "write_lat_log",
];

/// Keys that are left out, with what a job does without them.
const LEFT_OUT: [(&str, &str); 45] = [
    ("allrandrepeat", "places are drawn by domio's seed"),
    (
        "buffer_compress_percentage",
        "what blocks hold changes no time",
    ),
    ("clone", "clones are processes"),
    ("cpumask", "the guest's kernel places processes"),
    ("cpus_allowed", "the guest's kernel places processes"),
    ("cpus_allowed_policy", "the guest's kernel places processes"),
    ("dedupe_percentage", "what blocks hold changes no time"),
    ("exitall", "every job continues to its own end"),
    ("fadvise_hint", "read-ahead is the kernel's own"),
    ("fill_device", "the job ends with its size"),
    (
        "filename",
        "each clone has a file of its own, or with direct=1 the disk",
    ),
    ("fixedbufs", "buffers cost nothing"),
    ("hipri", "completions come with interrupts"),
    ("invalidate", "what the page cache has stays there"),
    ("iodepth_batch", "each call is made by itself"),
    (
        "iodepth_batch_complete",
        "each call is waited for by itself",
    ),
    (
        "iodepth_batch_complete_max",
        "each call is waited for by itself",
    ),
    (
        "iodepth_batch_complete_min",
        "each call is waited for by itself",
    ),
    ("iodepth_batch_submit", "each call is made by itself"),
    (
        "iodepth_low",
        "each call that ends is followed by the next one",
    ),
    ("iomem", "buffers cost nothing"),
    ("iomem_align", "buffers cost nothing"),
    ("ioscheduler", "the elevator is `elevator` of the scenario"),
    ("lockmem", "memory is that of the scenario"),
    (
        "loops",
        "the job runs once; time_based with runtime repeats the job",
    ),
    ("max_latency", "the job continues however slow a call is"),
    ("mem", "buffers cost nothing"),
    ("nice", "processes have the nice value of the task"),
    ("norandommap", "every place is drawn anew in any case"),
    ("nonvectored", "calls have one buffer each"),
    ("pre_read", "the page cache is empty at the begin"),
    ("prio", "requests have no priority of their own"),
    ("prioclass", "requests have no priority of their own"),
    ("ramp_time", "all calls count from run.warmup_s on"),
    ("rate_min", "the job continues below the rate"),
    ("rate_iops_min", "the job continues below the rate"),
    ("refill_buffers", "what blocks hold changes no time"),
    ("registerfiles", "calls cost what those of libaio cost"),
    ("scramble_buffers", "what blocks hold changes no time"),
    ("softrandommap", "every place is drawn anew in any case"),
    ("sqthread_poll", "calls cost what those of libaio cost"),
    ("stonewall", "all jobs begin together: use startdelay"),
    ("thread", "clones are processes"),
    ("wait_for", "all jobs begin together: use startdelay"),
    ("zero_buffers", "what blocks hold changes no time"),
];

/// Keys that make other requests, with what to write instead.
const REFUSED: [(&str, &str); 44] = [
    ("blockalign", ALIGN),
    ("ba", ALIGN),
    (
        "bs_is_seq_rand",
        "bs=4k,64k gives reads and writes sizes of their own",
    ),
    ("bs_unaligned", ALIGN),
    ("blocksize_unaligned", ALIGN),
    ("do_verify", VERIFY),
    ("experimental_verify", VERIFY),
    ("file_append", FILES),
    ("file_service_type", FILES),
    ("filesize", "size says how much of the file is used"),
    ("flow", RATES),
    ("flow_id", RATES),
    ("include", "put the text of that file into this one"),
    (
        "io_submit_mode",
        "a call is made by the process that thinks: leave io_submit_mode out",
    ),
    ("latency_percentile", LATENCY),
    ("latency_run", LATENCY),
    ("latency_target", LATENCY),
    ("latency_window", LATENCY),
    ("lockfile", FILES),
    ("nrfiles", FILES),
    ("number_ios", "io_size says when the job ends, in bytes"),
    ("openfiles", FILES),
    ("rate_cycle", RATES),
    ("rate_process", RATES),
    (
        "read_iolog",
        "the workload `io-replay` makes recorded requests",
    ),
    (
        "replay_redirect",
        "the workload `io-replay` makes recorded requests",
    ),
    ("rwmixcycle", "rwmixread draws the way of each call"),
    (
        "serialize_overlap",
        "calls in flight may overlap: leave serialize_overlap out",
    ),
    ("sync_file_range", "fsync=N flushes the file after N writes"),
    ("thinktime_iotime", THINK),
    ("thinktime_spin", THINK),
    ("trim_backlog", TRIM),
    ("trim_percentage", TRIM),
    ("verify", VERIFY),
    ("verify_backlog", VERIFY),
    ("verify_only", VERIFY),
    ("write_barrier", "fsync=N flushes the file after N writes"),
    ("zonecapacity", ZONES),
    ("zonemode", ZONES),
    ("zonerange", ZONES),
    ("zonesize", ZONES),
    ("zoneskip", ZONES),
    ("max_open_zones", ZONES),
    ("job_max_open_zones", ZONES),
];

const ALIGN: &str = "places are whole blocks: leave the key out";
const FILES: &str = "each clone has one file: use numjobs for several";
const LATENCY: &str = "a job keeps its iodepth: compare several values of iodepth";
const RATES: &str = "rate and rate_iops limit a job at even distances";
const THINK: &str = "thinktime lets the job sleep, thinktime_blocks says how often";
const TRIM: &str = "jobs read and write alone";
const VERIFY: &str = "blocks are not read again: a job with rw=read does that";
const ZONES: &str = "a drive has no zones: offset and size bound what a job uses";

/// What becomes of a key that no job here has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Other {
    /// No request is another one for that.
    OfReport,
    /// What a job does instead.
    LeftOut(&'static str),
    /// What to write instead.
    Refused(&'static str),
    /// No key of fio that is known here.
    Unknown,
}

/// What becomes of `key`.
pub fn other(key: &str) -> Other {
    let of =
        |all: &'static [(&str, &str)]| all.iter().find(|(k, _)| *k == key).map(|(_, what)| *what);
    match (OF_REPORT.contains(&key), of(&LEFT_OUT), of(&REFUSED)) {
        (true, ..) => Other::OfReport,
        (_, Some(what), _) => Other::LeftOut(what),
        (.., Some(what)) => Other::Refused(what),
        _ => Other::Unknown,
    }
}
