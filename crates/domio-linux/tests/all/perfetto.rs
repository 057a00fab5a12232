//! Perfetto traces: messages, columns, sequences, packed packets.

use std::io::Write;

use domio_linux::{Left, LinuxEvent, LinuxWhat, Tid};

use crate::{all, error, read, reader};

fn varint(mut n: u64, out: &mut Vec<u8>) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// A field with a number.
fn number(field: u32, n: u64) -> Vec<u8> {
    let mut out = Vec::new();
    varint(u64::from(field) << 3, &mut out);
    varint(n, &mut out);
    out
}

/// A field with bytes: text, a message, packed numbers.
fn bytes(field: u32, data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    varint(u64::from(field) << 3 | 2, &mut out);
    varint(data.len() as u64, &mut out);
    out.extend(data);
    out
}

fn packed(field: u32, numbers: &[u64]) -> Vec<u8> {
    let mut data = Vec::new();
    numbers.iter().for_each(|n| varint(*n, &mut data));
    bytes(field, &data)
}

/// An event of a bundle.
fn event(time: u64, pid: u64, field: u32, message: &[Vec<u8>]) -> Vec<u8> {
    let parts = [
        number(1, time),
        number(2, pid),
        bytes(field, &message.concat()),
    ];
    bytes(2, &parts.concat())
}

fn switch(time: u64, prev: u64, state: u64, next: u64) -> Vec<u8> {
    let comm = |field, tid: u64| bytes(field, format!("t{tid}").as_bytes());
    let message = [
        comm(1, prev),
        number(2, prev),
        number(3, 120),
        number(4, state),
        comm(5, next),
        number(6, next),
        number(7, 139),
    ];
    event(time, prev, 4, &message)
}

fn bundle(cpu: u64, parts: &[Vec<u8>]) -> Vec<u8> {
    bytes(1, &[number(1, cpu), parts.concat()].concat())
}

fn packet(parts: &[Vec<u8>]) -> Vec<u8> {
    bytes(1, &parts.concat())
}

/// Columns of two switches and one wake-up.
fn compact() -> Vec<u8> {
    let minus_one = u64::MAX;
    let parts = [
        bytes(5, b"CPU 0/KVM"),
        bytes(5, b"swapper"),
        packed(1, &[1000, 500]),
        packed(2, &[1, 0x100]),
        packed(3, &[7, 0]),
        packed(4, &[minus_one, 120]),
        packed(6, &[0, 1]),
        packed(7, &[1200]),
        packed(8, &[9]),
        packed(9, &[3]),
        packed(10, &[100]),
        packed(11, &[0]),
    ];
    bytes(4, &parts.concat())
}

fn switched(time: u64, cpu: u32, prev: (Tid, i16), left: Left, next: (Tid, i16)) -> LinuxEvent {
    LinuxEvent {
        time,
        cpu,
        current: (prev.0 != Tid::UNKNOWN).then_some(prev.0),
        what: LinuxWhat::Switch {
            prev: prev.0,
            prev_prio: prev.1,
            left,
            next: next.0,
            next_prio: next.1,
        },
    }
}

#[test]
fn messages_of_two_cpus_are_merged() {
    let wakeup = [bytes(1, b"t3"), number(2, 3), number(3, 100), number(5, 1)];
    let tree = bytes(2, &[number(1, 3), bytes(2, b"t3"), number(3, 2)].concat());
    let process = [
        number(1, 2),
        number(2, 1),
        bytes(3, b"/usr/bin/qemu-system-x86_64"),
        bytes(3, b"-name"),
        bytes(3, b"guest=web"),
    ];
    let tree = [bytes(1, &process.concat()), tree].concat();
    let system = bytes(1, &[bytes(3, b"6.1.0"), bytes(4, b"x86_64")].concat());
    let trace = [
        packet(&[bytes(45, &system), bytes(2, &tree)]),
        packet(&[bundle(1, &[event(1500, 5, 17, &wakeup)]), number(10, 1)]),
        packet(&[
            bundle(0, &[switch(1000, 1, 1, 2), switch(2000, 2, 0, 3)]),
            number(10, 1),
        ]),
    ]
    .concat();
    let (events, reader) = read(trace);
    let prio = 120;
    let expected = [
        switched(1000, 0, (Tid(1), prio), Left::Sleeping, (Tid(2), 139)),
        LinuxEvent {
            time: 1500,
            cpu: 1,
            current: Some(Tid(5)),
            what: LinuxWhat::Wakeup {
                tid: Tid(3),
                prio: 100,
                target_cpu: 1,
            },
        },
        switched(2000, 0, (Tid(2), prio), Left::Runnable, (Tid(3), 139)),
    ];
    assert_eq!(events, expected);
    assert_eq!(reader.about().kernel.as_deref(), Some("6.1.0"));
    let task = reader.tasks().get(Tid(3)).unwrap();
    assert_eq!((task.comm.as_str(), task.process), ("t3", Some(Tid(2))));
    // Events know the name of the thread, which need not be that of the command.
    let process = reader.tasks().get(Tid(2)).unwrap();
    assert_eq!(
        (process.comm.as_str(), process.parent),
        ("t2", Some(Tid(1)))
    );
    let command = "/usr/bin/qemu-system-x86_64 -name guest=web";
    assert_eq!(process.command.as_deref(), Some(command));
    assert!(reader.damage().is_empty());
}

#[test]
fn columns_are_read_and_the_thread_before_comes_from_the_bundle_before() {
    let trace = [
        packet(&[bundle(2, &[switch(500, 4, 1, 5)])]),
        packet(&[bundle(2, &[compact()])]),
        packet(&[bundle(2, &[number(3, 1), switch_columns(9000)])]),
    ]
    .concat();
    let (events, reader) = read(trace);
    assert_eq!(
        events[1],
        switched(1000, 2, (Tid(5), 139), Left::Sleeping, (Tid(7), -1))
    );
    let waking = LinuxWhat::Waking {
        tid: Tid(9),
        prio: 100,
        target_cpu: 3,
    };
    assert_eq!((events[2].time, events[2].what), (1200, waking));
    assert_eq!(
        events[3],
        switched(1500, 2, (Tid(7), -1), Left::Preempted, (Tid(0), 120))
    );
    // Events are lost before the last bundle, so that nobody knows who ran.
    assert_eq!(events[4].what, LinuxWhat::Lost { events: 0 });
    assert_eq!(
        events[5],
        switched(9000, 2, (Tid::UNKNOWN, 0), Left::Runnable, (Tid(8), 120))
    );
    assert_eq!(reader.tasks().get(Tid(7)).unwrap().comm, "CPU 0/KVM");
    assert_eq!(reader.losses().uncounted, 1);
}

fn switch_columns(time: u64) -> Vec<u8> {
    // Repeated numbers need not be packed.
    let parts = [number(1, time), number(2, 0), number(3, 8), number(4, 120)];
    bytes(4, &parts.concat())
}

#[test]
fn sequences_that_overlap_are_merged_and_events_of_both_are_given_once() {
    let a = [
        bundle(0, &[switch(1000, 1, 1, 2), switch(3000, 2, 1, 1)]),
        number(10, 1),
    ];
    let b = [
        bundle(
            0,
            &[switch(1000, 1, 1, 2), event(2000, 2, 24, &[number(1, 3)])],
        ),
        number(10, 2),
    ];
    let (events, reader) = read([packet(&a), packet(&b)].concat());
    let times: Vec<_> = events.iter().map(|e| e.time).collect();
    assert_eq!(times, [1000, 2000, 3000]);
    assert_eq!(events[1].what, LinuxWhat::SoftirqEntry { vec: 3 });
    assert_eq!(reader.damage().skipped[0].count, 1);
}

#[test]
fn generic_events_are_read_by_the_names_of_their_fields() {
    let field = |name: &str, value: Vec<u8>| bytes(2, &[bytes(1, name.as_bytes()), value].concat());
    let exit = [
        bytes(1, b"kvm_exit"),
        field("exit_reason", number(5, 12)),
        field("vcpu_id", number(5, 1)),
    ];
    let proto_field = |name: &[u8], n| bytes(2, &[bytes(1, name), number(3, n)].concat());
    let proto = [
        bytes(1, b"napi_poll"),
        proto_field(b"work", 2),
        proto_field(b"budget", 4),
    ];
    let described = bytes(11, &[number(1, 70_000), bytes(2, &proto.concat())].concat());
    let poll = [number(2, 5), number(4, 64)];
    let bundle = bundle(
        0,
        &[
            described,
            switch(1000, 1, 1, 2),
            event(1100, 2, 327, &exit),
            event(1200, 2, 70_000, &poll),
        ],
    );
    let (events, _) = read(packet(&[bundle]));
    assert_eq!(events[1].what, LinuxWhat::KvmExit { reason: 12 });
    let polled = LinuxWhat::NapiPoll {
        work: 5,
        budget: 64,
    };
    assert_eq!(events[2].what, polled);
}

#[test]
fn packed_packets_are_unpacked() {
    let inner = packet(&[bundle(0, &[switch(1000, 1, 1, 2), switch(3000, 2, 1, 1)])]);
    let plain = read(inner.clone()).0;
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    zlib.write_all(&inner).unwrap();
    let zlib = packet(&[bytes(50, &zlib.finish().unwrap())]);
    let zstd = packet(&[bytes(133, &zstd::bulk::compress(&inner, 1).unwrap())]);
    assert_eq!(read(zlib).0, plain);
    assert_eq!(read(zstd).0, plain);
}

#[test]
fn a_trace_that_is_cut_gives_its_whole_packets_first() {
    let packets: Vec<_> = (0..4)
        .map(|n| packet(&[bundle(0, &[switch(1000 + n, 1, 1, 2)]), number(10, 1)]))
        .collect();
    let size = packets[0].len();
    let trace = packets.concat();
    // A file of a few bytes is not known to be a trace.
    for n in (8..trace.len()).filter(|n| n % size != 0) {
        let whole = n / size;
        let cut = trace[..n].to_vec();
        match reader(cut) {
            Ok(mut reader) => {
                let (events, error) = all(&mut reader);
                assert_eq!(events.len(), whole, "{n} bytes");
                let error = error.unwrap();
                assert!(error.is_truncation(), "{n} bytes: {error}");
            }
            Err(error) => panic!("{n} bytes: {error}"),
        }
    }
}

#[test]
fn a_trace_without_the_scheduler_says_so() {
    let error = error(packet(&[number(8, 5), bytes(9, b"")])).to_string();
    assert!(error.contains("no event of the scheduler"), "{error}");
}
