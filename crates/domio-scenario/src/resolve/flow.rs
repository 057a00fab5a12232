//! Network workloads: traffic between a guest and the remote host.

use crate::check::{Cx, Fields};
use crate::problem::{Code, Problem};
use domio_net::host::{FlowConfig, FlowKind};
use domio_net::icmp::{Pace, PingConfig};
use domio_net::tcp::TcpConfig;
use domio_net::udp::UdpConfig;

/// The flow that `fields` describe, whose workload is `word`.
pub(super) fn flow(cx: &mut Cx<'_>, fields: &Fields<'_>, word: &str) -> Option<FlowConfig> {
    let served_by_the_kernel = [
        no_task_key(cx, fields, word, "vcpu"),
        no_task_key(cx, fields, word, "priority"),
    ];
    let kind = match word {
        "stream" => stream(fields),
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
    let Some(field) = fields.field(key) else {
        return true;
    };
    cx.push(
        Problem::new(
            Code::Conflict,
            field.key_span,
            format!("`{key}` does not belong to `{word}`"),
        )
        .key(fields.key_path(key))
        .expected(format!("no `{key}`"))
        .hint("the guest's kernel serves its network on vcpu 0, before any task"),
    );
    false
}

fn stream(fields: &Fields<'_>) -> Option<FlowKind> {
    let number = |name| fields.int(name).and_then(|n| u32::try_from(n).ok());
    let config = TcpConfig {
        initial_window: number("initial_window")?,
        send_buffer: number("send_buffer")?,
        receive_buffer: number("receive_buffer")?,
        rto_min: fields.time("rto_min")?,
        ack_delay: fields.time("ack_delay")?,
        ..TcpConfig::default()
    };
    Some(match fields.text("direction")?.as_str() {
        "in" => FlowKind::StreamIn(config),
        _ => FlowKind::StreamOut(config),
    })
}

fn ping(cx: &mut Cx<'_>, fields: &Fields<'_>) -> Option<PingConfig> {
    let floods = fields.text("pace")? == "flood";
    let pace = match fields.field("timeout") {
        None if floods => Pace::Flood(Pace::FLOOD_TIMEOUT),
        None => Pace::Adaptive,
        Some(_) if floods => Pace::Flood(fields.time("timeout")?),
        Some(timeout) => {
            cx.push(
                Problem::new(
                    Code::Conflict,
                    timeout.key_span,
                    "an adaptive ping has no timeout",
                )
                .key(fields.key_path(timeout.written))
                .expected("`pace = \"flood\"` with it")
                .hint("add `pace = \"flood\"`, or remove the timeout"),
            );
            return None;
        }
    };
    let bytes = u16::try_from(fields.int("bytes")?).ok()?;
    Some(PingConfig { bytes, pace })
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
