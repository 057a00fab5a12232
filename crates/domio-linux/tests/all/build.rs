//! Parts of files that tests make: numbers, descriptions of events, raw events.

/// The machine that a file is from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Machine {
    pub big: bool,
    /// Bytes of a word.
    pub long: usize,
}

/// The usual machine, and those of other endianness and size.
pub const MACHINES: [Machine; 4] = [
    Machine {
        big: false,
        long: 8,
    },
    Machine { big: true, long: 8 },
    Machine {
        big: false,
        long: 4,
    },
    Machine { big: true, long: 4 },
];

impl Machine {
    /// A number of `size` bytes.
    pub fn number(self, n: u64, size: usize) -> Vec<u8> {
        match self.big {
            true => n.to_be_bytes()[8 - size..].to_vec(),
            false => n.to_le_bytes()[..size].to_vec(),
        }
    }

    /// A sequence of numbers with their sizes.
    pub fn numbers(self, numbers: &[(u64, usize)]) -> Vec<u8> {
        numbers
            .iter()
            .flat_map(|(n, size)| self.number(*n, *size))
            .collect()
    }
}

pub const SWITCH: u16 = 316;
pub const WAKEUP: u16 = 318;
pub const ATTACH: u16 = 77;
/// An event without a description.
pub const UNKNOWN: u16 = 900;

const STATES: &str = r#"REC->prev_state & (1024-1) ? __print_flags(
    REC->prev_state & (1024-1), "|", { 1, "S"} , { 2, "D" }, { 16, "Z" },
    { 32, "X" }, { 512, "P" }) : "R",
    REC->prev_state & 1024 ? "+" : """#;

fn description(name: &str, id: u16, fields: &[(&str, usize, usize, u8)], print: &str) -> String {
    let common = [
        ("unsigned short common_type", 0, 2, 0),
        ("unsigned char common_flags", 2, 1, 0),
        ("unsigned char common_preempt_count", 3, 1, 0),
        ("int common_pid", 4, 4, 1),
    ];
    let line = |(field, offset, size, signed): &(&str, usize, usize, u8)| {
        format!("\tfield:{field};\toffset:{offset};\tsize:{size};\tsigned:{signed};\n")
    };
    let common: String = common.iter().map(line).collect();
    let fields: String = fields.iter().map(line).collect();
    format!("name: {name}\nID: {id}\nformat:\n{common}\n{fields}\nprint fmt: {print}\n")
}

/// Descriptions of the events of system `sched`, and of `cgroup`.
pub fn descriptions(machine: Machine) -> Vec<(&'static str, Vec<String>)> {
    let long = machine.long;
    let switch = description(
        "sched_switch",
        SWITCH,
        &[
            ("char prev_comm[16]", 8, 16, 0),
            ("pid_t prev_pid", 24, 4, 1),
            ("int prev_prio", 28, 4, 1),
            ("long prev_state", 32, long, 1),
            ("char next_comm[16]", 32 + long, 16, 0),
            ("pid_t next_pid", 48 + long, 4, 1),
            ("int next_prio", 52 + long, 4, 1),
        ],
        &format!("\"prev_state=%s%s\", {}", STATES.replace('\n', "")),
    );
    let wakeup = description(
        "sched_wakeup",
        WAKEUP,
        &[
            ("char comm[16]", 8, 16, 0),
            ("pid_t pid", 24, 4, 1),
            ("int prio", 28, 4, 1),
            ("int target_cpu", 32, 4, 1),
        ],
        "\"comm=%s\", REC->comm",
    );
    let attach = description(
        "cgroup_attach_task",
        ATTACH,
        &[
            ("int dst_root", 8, 4, 1),
            ("int pid", 12, 4, 1),
            ("__data_loc char[] dst_path", 16, 4, 0),
            ("__data_loc char[] comm", 20, 4, 0),
        ],
        "\"pid=%d\", REC->pid",
    );
    vec![("sched", vec![switch, wakeup]), ("cgroup", vec![attach])]
}

/// `header_page` as the kernel describes it.
pub fn header_page(machine: Machine, page: usize) -> String {
    let long = machine.long;
    format!(
        "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
         \tfield: local_t commit;\toffset:8;\tsize:{long};\tsigned:1;\n\
         \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
         \tfield: char data;\toffset:{};\tsize:{};\tsigned:0;\n",
        8 + long,
        page - 8 - long
    )
}

fn comm(name: &str) -> Vec<u8> {
    let mut comm = name.as_bytes().to_vec();
    comm.resize(16, 0);
    comm
}

fn common(machine: Machine, id: u16, pid: u32) -> Vec<u8> {
    let mut raw = machine.number(u64::from(id), 2);
    raw.extend([0, 1]);
    raw.extend(machine.number(u64::from(pid), 4));
    raw
}

/// A raw `sched_switch`. Threads are called "t" and their id.
pub fn switch(machine: Machine, prev: u32, state: u64, next: u32) -> Vec<u8> {
    let mut raw = common(machine, SWITCH, prev);
    raw.extend(comm(&format!("t{prev}")));
    raw.extend(machine.numbers(&[(u64::from(prev), 4), (120, 4), (state, machine.long)]));
    raw.extend(comm(&format!("t{next}")));
    raw.extend(machine.numbers(&[(u64::from(next), 4), (139, 4)]));
    raw
}

/// A raw `sched_wakeup` of a thread onto a cpu.
pub fn wakeup(machine: Machine, current: u32, pid: u32, cpu: u32) -> Vec<u8> {
    let mut raw = common(machine, WAKEUP, current);
    raw.extend(comm(&format!("t{pid}")));
    raw.extend(machine.numbers(&[(u64::from(pid), 4), (100, 4), (u64::from(cpu), 4)]));
    raw
}

/// A raw `cgroup_attach_task`, with texts behind its fields.
pub fn attach(machine: Machine, current: u32, pid: u32, path: &str) -> Vec<u8> {
    let mut raw = common(machine, ATTACH, current);
    let size = path.len() as u64 + 1;
    raw.extend(machine.numbers(&[(1, 4), (u64::from(pid), 4)]));
    raw.extend(machine.numbers(&[(size << 16 | 24, 4), (2 << 16 | (24 + size), 4)]));
    raw.extend(path.as_bytes());
    raw.extend(b"\0x\0");
    raw
}

/// A raw event of `size` bytes that no description has.
pub fn unknown(machine: Machine, size: usize) -> Vec<u8> {
    let mut raw = common(machine, UNKNOWN, 1);
    raw.resize(size, 0xee);
    raw
}

/// The block of descriptions of trace.dat version 6 and of perf.data, from `header_page` to the
/// names of threads.
pub fn description_block(machine: Machine, page: usize, names: &str) -> Vec<u8> {
    let mut out = header_info(machine, page);
    out.extend(machine.number(0, 4));
    out.extend(systems(machine));
    out.extend(machine.numbers(&[(0, 4), (0, 4)]));
    out.extend(machine.number(names.len() as u64, 8));
    out.extend(names.as_bytes());
    out
}

/// `header_page` and `header_event` with their names and sizes.
pub fn header_info(machine: Machine, page: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, text) in [
        ("header_page\0", header_page(machine, page)),
        ("header_event\0", "# compressed entry header\n".to_string()),
    ] {
        out.extend(name.as_bytes());
        out.extend(machine.number(text.len() as u64, 8));
        out.extend(text.as_bytes());
    }
    out
}

/// Descriptions of events by system, with their counts and sizes.
pub fn systems(machine: Machine) -> Vec<u8> {
    let systems = descriptions(machine);
    let mut out = machine.number(systems.len() as u64, 4);
    for (system, events) in systems {
        out.extend(system.as_bytes());
        out.push(0);
        out.extend(machine.number(events.len() as u64, 4));
        for text in events {
            out.extend(machine.number(text.len() as u64, 8));
            out.extend(text.as_bytes());
        }
    }
    out
}
