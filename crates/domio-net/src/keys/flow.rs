//! Network workloads of tasks: traffic between a guest and the remote host.

use super::flows::Serving;
use super::traffic::TRAFFIC;
use crate::host::FlowConfig;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use domio_core::keys::{Checker, Code, KeyReader, KeyTable, Mistake, Named, Slot, Span, WordOf};
use domio_vmm::bus::side::Placing;
use domio_vmm::config::TaskConfig;

/// Traffic that a task asks for.
#[derive(Clone)]
pub(super) struct Flow {
    /// What flows: one thing, or the requests to a server.
    pub configs: Vec<FlowConfig>,
    /// The server.
    pub server: Option<Serving>,
    /// The network, if it names one.
    pub network: Option<Named>,
    /// The domain at the other end, if it is none outside.
    pub to: Option<Named>,
    /// Of its process, where it has one.
    pub vcpu: u16,
    /// Whether the text says so, so that no kernel moves the process.
    pub placed: bool,
    /// See [`Flow::vcpu`].
    pub priority: i8,
    /// The workload's word.
    pub span: Span,
    /// Path of the table that describes it.
    pub path: String,
}

/// The flow that `table` describes.
pub(super) fn flow(
    cx: &mut dyn Checker,
    table: &dyn KeyTable,
    place: Option<Placing<'_>>,
) -> Option<Flow> {
    let word = table.word()?;
    let traffic = WordOf::find(&TRAFFIC, word)?;
    let flows = traffic(&mut KeyReader {
        cx: &mut *cx,
        keys: table,
    })?;
    let good = match (&place, flows.by_kernel) {
        (None, _) => true,
        (Some(place), true) => {
            let vcpu = no_task_key(cx, table, word, place.vcpu);
            let priority = no_task_key(cx, table, word, place.priority);
            vcpu && priority
        }
        (Some(place), false) => one_vcpu(cx, table, word, place),
    };
    let network = table.named(&flows.network)?;
    let to = match &flows.to {
        None => None,
        Some(slot) => table.named(slot)?,
    };
    let vcpu = place.as_ref().filter(|place| place.vcpu.given);
    let priority = place.as_ref().filter(|place| place.priority.given);
    let flow = Flow {
        configs: flows.configs?,
        server: flows.serving,
        network,
        to,
        vcpu: match vcpu {
            None => 0,
            Some(place) => place.vcpu.get()?.unwrap_or(0),
        },
        placed: vcpu.is_some(),
        priority: match priority {
            None => TaskConfig::IO_BOUND,
            Some(place) => place.priority.get()?,
        },
        span: table.selected().map_or(table.header(), |place| place.value),
        path: table.path().to_owned(),
    };
    good.then_some(flow)
}

/// Reports a process of a flow that is to live on every vcpu; whether it is on one.
fn one_vcpu(cx: &mut dyn Checker, table: &dyn KeyTable, word: &str, place: &Placing<'_>) -> bool {
    let all = place.vcpu.given && place.vcpu.get() == Some(None);
    if all {
        cx.tell(table.wrong(Code::Conflict, place.vcpu, "all").says(
            format!("a `{word}` has one process, on one vcpu"),
            "the index of a vcpu",
            "for several processes give each a separate [[domain.task]]",
        ));
    }
    !all
}

/// Reports a key that means something for tasks alone; whether it is not there.
fn no_task_key<T>(cx: &mut dyn Checker, table: &dyn KeyTable, word: &str, slot: &Slot<T>) -> bool {
    if !slot.given {
        return true;
    }
    let key = slot.name;
    let which = if word == "udp" {
        " with `direction = \"in\"`"
    } else {
        ""
    };
    cx.tell(table.misplaced(slot).says(
        format!("`{key}` does not belong to `{word}`{which}"),
        format!("no `{key}`"),
        "the guest's kernel serves it on vcpu 0, before any task",
    ));
    false
}

/// A second server is asked for where there is one.
pub(super) fn second_server(flow: &Flow) -> Mistake {
    let what = "the domain has two servers on one network";
    Mistake::new(Code::Conflict, flow.span, what)
        .key(format!("{}.workload", flow.path))
        .expected("one server on each network")
        .hint("give the other one to another domain, or more `requests` to the first")
}
