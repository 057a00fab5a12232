//! Network workloads: traffic between a guest and the remote host.

use crate::check::{Cx, Fields};
use crate::problem::{Code, Problem};
use domio_net::host::{FlowConfig, FlowKind, StreamConfig};
use domio_net::icmp::{Pace, PingConfig};
use domio_net::tcp::{Control, TcpConfig};
use domio_net::udp::UdpConfig;

/// The flow that `fields` describe, whose workload is `word`.
pub(super) fn flow(cx: &mut Cx<'_>, fields: &Fields<'_>, word: &str) -> Option<FlowConfig> {
    let served_by_the_kernel = [
        no_task_key(cx, fields, word, "vcpu"),
        no_task_key(cx, fields, word, "priority"),
    ];
    let kind = match word {
        "stream" => stream(cx, fields),
        "ping" => ping(cx, fields).map(FlowKind::Ping),
        _ => udp(fields),
    };
    if served_by_the_kernel.contains(&false) {
        return None;
    }
    Some(FlowConfig {
        kind: kind?,
        start: fields.time("begin")?,
    })
}

/// Tells of a key that means something for tasks alone; whether it is not there.
fn no_task_key(cx: &mut Cx<'_>, fields: &Fields<'_>, word: &str, key: &str) -> bool {
    let hint = "the guest's kernel serves its network on vcpu 0, before any task";
    let what = format!("`{key}` does not belong to `{word}`");
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

fn stream(cx: &mut Cx<'_>, fields: &Fields<'_>) -> Option<FlowKind> {
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
        rto_min: fields.time("rto_min")?,
        ack_delay: fields.time("ack_delay")?,
        ..TcpConfig::default()
    };
    let piece = number("piece")?;
    if fields.text("direction")? == "in" {
        return Some(FlowKind::StreamIn(StreamConfig { tcp: config, piece }));
    }
    let what = "a stream from the guest has no `piece`";
    let expected = "`direction = \"in\"` with it";
    let hint = "the guest writes as much as there is room for, the remote host reads at once";
    let stream = StreamConfig {
        tcp: config,
        piece: StreamConfig::PIECE,
    };
    not_given(cx, fields, "piece", what, expected, hint).then_some(FlowKind::StreamOut(stream))
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

fn udp(fields: &Fields<'_>) -> Option<FlowKind> {
    let config = UdpConfig {
        bytes: u16::try_from(fields.int("bytes")?).ok()?,
        rate: u32::try_from(fields.int("pps")?).ok()?,
    };
    Some(match fields.text("direction")?.as_str() {
        "in" => FlowKind::UdpIn(config),
        _ => FlowKind::UdpOut(config),
    })
}
