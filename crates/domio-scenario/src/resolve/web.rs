//! Web servers and their clients.

use crate::check::{self, Cx, Fields};
use crate::keys::WEB_FILES;
use crate::problem::{Code, Problem};
use domio_net::tcp::TcpConfig;
use domio_net::web::{ClientConfig, Files, Gaps, ServerConfig, WebConfig};
use domio_vmm::process::programs::WebCosts;

/// What a client asks for, unless told otherwise: 10 KiB.
const FILE: u32 = 10 << 10;

/// The server and the client that `fields` describe.
pub(super) fn web(cx: &mut Cx<'_>, fields: &Fields<'_>) -> Option<WebConfig> {
    let files = files(cx, fields);
    let number = |name| fields.int(name).and_then(|n| u32::try_from(n).ok());
    let small = |name| fields.int(name).and_then(|n| u16::try_from(n).ok());
    let timeout = match fields.field("timeout") {
        None => None,
        Some(_) => Some(fields.time("timeout")?),
    };
    Some(WebConfig {
        tcp: TcpConfig {
            initial_window: number("initial_window")?,
            send_buffer: number("send_buffer")?,
            nodelay: true,
            ..TcpConfig::default()
        },
        client: ClientConfig {
            rate: number("rate")?,
            gaps: match fields.text("gaps")?.as_str() {
                "exponential" => Gaps::Exponential,
                _ => Gaps::Even,
            },
            calls: number("calls")?,
            request: u32::try_from(fields.bytes("request")?).ok()?,
            files: files?,
            timeout,
            descriptors: small("descriptors")?,
            ports: small("ports")?,
            time_wait: fields.time("time_wait")?,
        },
        server: ServerConfig {
            workers: small("workers")?,
            backlog: small("backlog")?,
            abort_on_overflow: fields.text("overflow")? == "reset",
            costs: WebCosts {
                request: fields.time("work")?,
                kib: fields.time("work_kib")?,
            },
        },
    })
}

/// What the client asks for.
fn files(cx: &mut Cx<'_>, fields: &Fields<'_>) -> Option<Files> {
    let Some(several) = fields.field("files") else {
        let one = match fields.field("file") {
            None => FILE,
            Some(_) => u32::try_from(fields.bytes("file")?).ok()?,
        };
        return Some(Files::new(&[(one, 1)]));
    };
    if let Some(one) = fields.field("file") {
        cx.push(
            Problem::new(
                Code::Conflict,
                one.key_span,
                "the client has both a `file` and `files`",
            )
            .key(fields.key_path("file"))
            .expected("one of the two")
            .related(several.key_span, "the files")
            .hint("make the file one more table of `files`"),
        );
        return None;
    }
    let tables = fields.tables("files");
    if !(1..=Files::MAX).contains(&tables.len()) {
        cx.push(
            Problem::new(
                Code::Limit,
                several.span,
                format!("a client asks for {} classes of files", tables.len()),
            )
            .key(fields.key_path("files"))
            .found(tables.len().to_string())
            .expected(format!("1 to {}", Files::MAX))
            .hint("put files of similar sizes together, and add up their shares"),
        );
        return None;
    }
    let mut classes = Vec::new();
    for (node, table, path) in tables {
        let of_class = check::table(cx, table, node.span, &WEB_FILES, &path, None);
        let bytes = of_class.bytes("bytes").and_then(|n| u32::try_from(n).ok());
        let share = of_class.int("share").and_then(|n| u32::try_from(n).ok());
        classes.push(bytes.zip(share));
    }
    let classes: Option<Vec<_>> = classes.into_iter().collect();
    Some(Files::new(&classes?))
}
