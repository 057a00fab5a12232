//! The workload `web`: a web server and its client.

use super::flows::{BEGIN, END, Flows, ON_NETWORK, When, message};
use crate::host::FlowKind;
use crate::tcp::TcpConfig;
use crate::web::{ClientConfig, Files, Gaps, ServerConfig, WebConfig};
use alloc::format;
use alloc::string::String;
use alloc::string::ToString;
use alloc::vec::Vec;
use domio_core::Duration;
use domio_core::keys::{
    Code, KeyReader, KeySection, Keys, Need, Nested, WordOf, int, nested_any, time, word,
};
use domio_vmm::process::programs::WebCosts;

/// Most connections that a client begins in a second.
const RATE_MAX: i64 = 1_000_000;

/// Most processes of a server.
const WORKERS_MAX: i64 = 10_000;

/// Largest share of a class of files.
const SHARE_MAX: i64 = 1_000_000;

/// Largest request and file.
const REQUEST_MAX: u64 = 64 << 10;
const FILE_MAX: u64 = 1 << 30;

/// What a client asks for, by default: 10 KiB.
const FILE: u32 = 10 << 10;

pub(super) const DOC: &str = "A web server with several processes, and a client on the remote host \
     that opens connections at a rate, whether earlier ones have ended or not (`httperf`). The \
      client closes. `domio run` reports replies, times and errors.";

static GAPS: [WordOf<Gaps>; 2] = [
    WordOf::new("even", Gaps::Even, "Always the same, as `httperf --rate`."),
    WordOf::new(
        "exponential",
        Gaps::Exponential,
        "Connections begin independently of each other, as `httperf --period=e`.",
    ),
];

/// Whether a connection that is one too many is reset.
static OVERFLOWS: [WordOf<bool>; 2] = [
    WordOf::new(
        "ignore",
        false,
        "The last step of opening is ignored and repeated: Linux's default.",
    ),
    WordOf::new(
        "reset",
        true,
        "The connection is reset (`net.ipv4.tcp_abort_on_overflow`).",
    ),
];

static WEB_FILES: KeySection = KeySection::plain(
    "files = [{ ... }]",
    "Files that a web client asks for, where they are of several sizes: up to 8 tables.",
    FileClass::KEYS,
);

keys! {
    struct FileClass {
        bytes: u32 = message(FILE_MAX), Need::Required, "Bytes of the file.";
        share: u32 = int(1, SHARE_MAX), Need::Int(1),
            "How many of all calls are for such a file, in proportion to the shares of the others.";
    }
}

keys! {
    pub(super) struct Web {
        rate: u32 = int(1, RATE_MAX), Need::Required,
            "Connections that begin in a second (`--rate`).";
        gaps: Gaps = word(&GAPS), Need::Word("even"),
            "Times between the begins of connections.";
        calls: u32 = int(1, 1_000_000), Need::Int(1),
            "Calls of each connection, one after the other (`--num-calls`).";
        request: u32 = message(REQUEST_MAX), Need::Word("80"), "Bytes of a request.";
        file: u32 = message(FILE_MAX), Need::Optional("10K, unless there are `files`"),
            "Bytes of the file that the client asks for, headers included.";
        files: Nested = nested_any(&WEB_FILES), Need::Optional("`file` alone"),
            "Files of several sizes, in the place of `file`.";
        timeout: Duration = time("ms", 1_000), Need::Optional("for ever"),
            "How long the client waits for the next progress of a connection: that it opens, that \
             the first bytes of the answer come, that more come (`--timeout`). Then it closes and \
             counts a timeout.";
        descriptors: u16 = int(1, 60_000), Need::Int(ClientConfig::DESCRIPTORS as i64),
            "Connections that the client may have open: its file descriptors. Where there is none \
             left, no connection begins (`fd-unavail`).";
        ports: u16 = int(1, ClientConfig::PORTS as i64), Need::Int(ClientConfig::PORTS as i64),
            "Ports that the client may use, in turn.";
        time_wait: Duration = time("s", 0), Need::TimeNs(0),
            "How long the client does not use a port again after its connection: 60 s in Linux, 0 \
             on a client that is set up for load.";
        workers: u16 = int(1, WORKERS_MAX), Need::Int(150),
            "Processes of the server, each of which serves a connection at a time. 150 is \
             `MaxClients` as Apache 2.0 ships.";
        backlog: u16 = int(1, 65_535), Need::Int(ServerConfig::BACKLOG as i64),
            "Connections that are open and wait for a process: what the server asks `listen` for, \
             at most `net.core.somaxconn`.";
        overflow: bool = word(&OVERFLOWS), Need::Word("ignore"),
            "What happens to a connection beyond the backlog.";
        work: Duration = time("us", 0), Need::Required,
            "Processor time of the server's code for each request, in addition to system calls and \
             the kernel's work for its packets.";
        work_kib: Duration = time("us", 0), Need::TimeNs(0), "Processor time of the server's code \
        for each KiB of the file.";
        initial_window: u32 = int(1, 1000), Need::Int(3),
            "Initial congestion window (segments): 3 in Linux until 2.6.38, 10 later.";
        send_buffer: u32 = int(REQUEST_MAX as i64, 1 << 30), Need::Int(256 * 1024),
            "Send buffer of each end (bytes): a process of the server waits while its answer does \
             not fit.";
        begin: Duration = BEGIN.0, BEGIN.1, BEGIN.2;
        end: Duration = END.0, END.1, END.2;
        network: String = ON_NETWORK.0, ON_NETWORK.1, ON_NETWORK.2;
    }
}

pub(super) fn web(table: &mut KeyReader<'_>) -> Option<Flows> {
    let keys = Web::read(table);
    let when = When::read(table, &keys.begin, &keys.end)?;
    let files = keys.files(table);
    let config = files.and_then(|files| keys.config(files));
    Some(Flows {
        configs: config.and_then(|config| when.one(FlowKind::Web(config))),
        by_kernel: false,
        serving: None,
        network: keys.network,
        to: None,
    })
}

impl Web {
    /// The server, and the client that asks for `files`.
    fn config(&self, files: Files) -> Option<WebConfig> {
        Some(WebConfig {
            tcp: TcpConfig {
                initial_window: self.initial_window.get()?,
                send_buffer: self.send_buffer.get()?,
                nodelay: true,
                ..TcpConfig::default()
            },
            client: ClientConfig {
                rate: self.rate.get()?,
                gaps: self.gaps.get()?,
                calls: self.calls.get()?,
                request: self.request.get()?,
                files,
                timeout: self.timeout.if_given()?,
                descriptors: self.descriptors.get()?,
                ports: self.ports.get()?,
                time_wait: self.time_wait.get()?,
            },
            server: ServerConfig {
                workers: self.workers.get()?,
                backlog: self.backlog.get()?,
                abort_on_overflow: self.overflow.get()?,
                costs: WebCosts {
                    request: self.work.get()?,
                    kib: self.work_kib.get()?,
                },
            },
        })
    }

    /// What the client asks for.
    fn files(&self, table: &mut KeyReader<'_>) -> Option<Files> {
        if !self.files.given {
            return Some(Files::new(&[(self.file.or(FILE)?, 1)]));
        }
        if self.file.given {
            table.tell(
                table
                    .keys
                    .misplaced(&self.file)
                    .related(table.keys.key_span(&self.files), "the files")
                    .says(
                        "the client has both a `file` and `files`",
                        "one of the two",
                        "make the file one more table of `files`",
                    ),
            );
            return None;
        }
        let count = table.keys.nodes(self.files.name).len();
        if !(1..=Files::MAX).contains(&count) {
            let found = count.to_string();
            table.tell(table.keys.wrong(Code::Limit, &self.files, found).says(
                format!("a client asks for {count} classes of files"),
                format!("1 to {}", Files::MAX),
                "put files of similar sizes together, and add up their shares",
            ));
            return None;
        }
        let classes = table.tables(&self.files, &WEB_FILES);
        let classes = classes.iter().map(|table| {
            let keys = FileClass::read(&**table);
            keys.bytes.get().zip(keys.share.get())
        });
        let classes: Option<Vec<_>> = classes.collect();
        Some(Files::new(&classes?))
    }
}
