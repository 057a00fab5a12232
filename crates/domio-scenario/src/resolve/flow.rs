//! Network workloads: traffic between a guest and the remote host.

use super::names::NetworkName;
use super::task::{Flow, Serving};
use super::web::web;
use crate::check::{Cx, Fields};
use crate::problem::{Code, Problem};
use domio_core::Duration;
use domio_net::host::{FlowConfig, FlowKind, RequestConfig, StreamConfig};
use domio_net::icmp::{Pace, PingConfig};
use domio_net::tcp::{Control, TcpConfig};
use domio_net::udp::UdpConfig;
use domio_vmm::config::TaskConfig;

/// The flow that `fields` describe, whose workload is `word`.
pub(super) fn flow(cx: &mut Cx<'_>, fields: &Fields<'_>, word: &str) -> Option<Flow> {
    let begin = fields.time("begin");
    let stop = match fields.field("end") {
        None => None,
        Some(_) => Some(end(cx, fields, begin)?),
    };
    let server = match word {
        "server" => Some(serving(fields)),
        _ => None,
    };
    let one = |kind| {
        let start = begin?;
        Some(vec![FlowConfig { kind, start, stop }])
    };
    let configs = match word {
        "stream" => stream(fields).and_then(one),
        "ping" => ping(cx, fields).map(FlowKind::Ping).and_then(one),
        "server" => requests(fields, begin),
        "web" => web(cx, fields).map(FlowKind::Web).and_then(one),
        _ => udp(cx, fields).and_then(one),
    };
    let by_kernel = match configs.as_ref().and_then(|all| all.first()) {
        Some(flow) => matches!(flow.kind, FlowKind::Ping(_) | FlowKind::UdpIn(_)),
        None => word == "ping",
    };
    let good = if by_kernel {
        let keys = ["vcpu", "priority"].map(|key| no_task_key(cx, fields, word, key));
        !keys.contains(&false)
    } else {
        one_vcpu(cx, fields, word)
    };
    let network = match fields.field("network") {
        None => None,
        Some(_) => Some(NetworkName::of(fields)?),
    };
    let priority = match fields.field("priority") {
        None => TaskConfig::IO_BOUND,
        Some(_) => fields.int("priority")? as i8,
    };
    let vcpu = match fields.field("vcpu") {
        None => 0,
        Some(_) => fields.vcpu("vcpu")?.unwrap_or(0),
    };
    let asks = fields.field("workload").map(|field| field.span);
    let flow = Flow {
        configs: configs?,
        server: match server {
            Some(server) => Some(server?),
            None => None,
        },
        network,
        vcpu,
        placed: fields.field("vcpu").is_some(),
        priority,
        span: asks.unwrap_or(fields.header),
        path: fields.path.clone(),
    };
    good.then_some(flow)
}

/// When a workload ends that begins at `begin`.
fn end(cx: &mut Cx<'_>, fields: &Fields<'_>, begin: Option<Duration>) -> Option<Duration> {
    let end = fields.time("end")?;
    let begin = begin?;
    if end > begin {
        return Some(end);
    }
    let problem = Problem::new(
        Code::Conflict,
        fields.span("end"),
        format!("the workload begins at {begin} and ends at {end}"),
    );
    cx.push(
        problem
            .key(fields.key_path("end"))
            .found(end.to_string())
            .expected(format!("more than `begin`, which is {begin}"))
            .hint("both count from the domain's start"),
    );
    None
}

/// Tells of a process of a flow that is to live on every vcpu; whether it is on one.
fn one_vcpu(cx: &mut Cx<'_>, fields: &Fields<'_>, word: &str) -> bool {
    let all = fields.field("vcpu").is_some() && fields.vcpu("vcpu") == Some(None);
    if all {
        cx.push(
            Problem::new(
                Code::Conflict,
                fields.span("vcpu"),
                format!("a `{word}` has one process, on one vcpu"),
            )
            .key(fields.key_path("vcpu"))
            .found("all")
            .expected("the index of a vcpu")
            .hint("for several at once give each a [[domain.task]] of its own"),
        );
    }
    !all
}

/// Tells of a key that means something for tasks alone; whether it is not there.
fn no_task_key(cx: &mut Cx<'_>, fields: &Fields<'_>, word: &str, key: &str) -> bool {
    let hint = "the guest's kernel serves it on vcpu 0, before any task";
    let which = if word == "udp" {
        " with `direction = \"in\"`"
    } else {
        ""
    };
    let what = format!("`{key}` does not belong to `{word}`{which}");
    not_given(cx, fields, key, &what, &format!("no `{key}`"), hint)
}

/// Tells of `key`, if it was given where it means nothing; whether it was not.
fn not_given(
    cx: &mut Cx<'_>,
    fields: &Fields<'_>,
    key: &str,
    what: &str,
    expected: &str,
    hint: &str,
) -> bool {
    let Some(field) = fields.field(key) else {
        return true;
    };
    cx.push(
        Problem::new(Code::Conflict, field.key_span, what)
            .key(fields.key_path(field.written))
            .expected(expected)
            .hint(hint),
    );
    false
}

fn stream(fields: &Fields<'_>) -> Option<FlowKind> {
    let number = |name| fields.int(name).and_then(|n| u32::try_from(n).ok());
    let config = TcpConfig {
        initial_window: number("initial_window")?,
        control: match fields.text("congestion")?.as_str() {
            "bic" => Control::Bic,
            _ => Control::Reno,
        },
        selective: fields.text("sack")? == "on",
        send_buffer: number("send_buffer")?,
        receive_buffer: number("receive_buffer")?,
        // What surrounds the data does not count.
        window: number("receive_buffer")?,
        rto_min: fields.time("rto_min")?,
        ack_delay: fields.time("ack_delay")?,
        ..TcpConfig::default()
    };
    let stream = StreamConfig {
        tcp: config,
        piece: number("piece")?,
    };
    Some(match fields.text("direction")?.as_str() {
        "in" => FlowKind::StreamIn(stream),
        _ => FlowKind::StreamOut(stream),
    })
}

/// What a server does.
fn serving(fields: &Fields<'_>) -> Option<Serving> {
    Some(Serving {
        request: fields.bytes("request")?,
        answer: fields.bytes("answer")?,
        work: fields.time("work")?,
    })
}

/// The requests to a server, the first one at `begin`.
fn requests(fields: &Fields<'_>, begin: Option<Duration>) -> Option<Vec<FlowConfig>> {
    let (requests, interval) = (fields.int("requests")?, fields.time("interval")?);
    let kind = FlowKind::Request(RequestConfig {
        tcp: TcpConfig::default(),
        bytes: fields.bytes("request")?,
    });
    let begin = begin?;
    let flow = |i| FlowConfig {
        kind,
        start: begin + interval * i,
        stop: None,
    };
    Some((0..requests as u64).map(flow).collect())
}

fn ping(cx: &mut Cx<'_>, fields: &Fields<'_>) -> Option<PingConfig> {
    let word = fields.text("pace")?;
    let time = |key, default| match fields.field(key) {
        None => Some(default),
        Some(_) => fields.time(key),
    };
    let alone = [
        belongs_to_pace(cx, fields, &word, "timeout", "flood"),
        belongs_to_pace(cx, fields, &word, "interval", "interval"),
    ];
    if alone.contains(&false) {
        return None;
    }
    let pace = match word.as_str() {
        "flood" => Pace::Flood(time("timeout", Pace::FLOOD_TIMEOUT)?),
        "interval" => Pace::Every(time("interval", Pace::INTERVAL)?),
        _ => Pace::Adaptive,
    };
    let bytes = u16::try_from(fields.int("bytes")?).ok()?;
    Some(PingConfig {
        bytes,
        pace,
        ticks: None,
    })
}

/// Tells of a time that a ping of this pace does not have; whether there is none.
fn belongs_to_pace(
    cx: &mut Cx<'_>,
    fields: &Fields<'_>,
    word: &str,
    key: &str,
    pace: &str,
) -> bool {
    let hint = format!("set `pace = \"{pace}\"`, or remove the {key}");
    let what = format!("a ping of pace \"{word}\" has no {key}");
    let expected = format!("`pace = \"{pace}\"` with it");
    word == pace || not_given(cx, fields, key, &what, &expected, &hint)
}

fn udp(cx: &mut Cx<'_>, fields: &Fields<'_>) -> Option<FlowKind> {
    let config = UdpConfig {
        bytes: u16::try_from(fields.int("bytes")?).ok()?,
        rate: u32::try_from(fields.int("pps")?).ok()?,
        wake: fields.time("wake")?,
    };
    if fields.text("direction")? == "in" {
        return Some(FlowKind::UdpIn(config));
    }
    if config.bytes == 0 {
        cx.push(
            Problem::new(
                Code::Conflict,
                fields.span("bytes"),
                "a process of the guest writes at least a byte at a time",
            )
            .key(fields.key_path("bytes"))
            .found("0")
            .expected("1 or more with `direction = \"out\"`")
            .hint("datagrams to the guest may be empty; those from it may not"),
        );
        return None;
    }
    Some(FlowKind::UdpOut(config))
}
