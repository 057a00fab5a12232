//! Disks of domains, and who goes through them.

use super::domain::Resolved;
use super::driver::{self, Users};
use super::task::{DiskCopy, Task, Work};
use crate::check::{self, Cx, Fields};
use crate::keys::DISK;
use crate::problem::{Code, Problem};
use crate::source::Span;
use domio_blk::loopback::{DiskConfig, LoopbackConfig, LoopbackCosts};
use domio_vmm::process::programs::CopyDirection;
use domio_vmm::profile::Profile;

/// A disk before it is given to its domain.
#[derive(Clone)]
pub(super) struct Disk {
    /// How large it is.
    bytes: u64,
    /// The driver domain, if it is named: the name and where it stands.
    backend: Option<(String, Span)>,
    /// Path of the table.
    path: String,
    /// What asks for it.
    pub span: Span,
}

/// Loop-back disks of one driver domain.
pub(super) struct Disks {
    pub config: LoopbackConfig,
    /// Index of the driver domain.
    pub driver: usize,
    /// Indices of the domains with the disks, in the order of the disks.
    pub users: Vec<usize>,
}

/// The disk of the domain that `fields` describe, if it has one; `None` when something is wrong
/// with it, or with what `tasks` want of it.
pub(super) fn disk(cx: &mut Cx<'_>, fields: &Fields<'_>, tasks: &[Task]) -> Option<Option<Disk>> {
    let copies = tasks.iter().filter_map(|task| match &task.work {
        Work::Copy(copy) => Some(copy),
        Work::Demand(_) | Work::Replay(_) | Work::Flow(_) => None,
    });
    let Some(field) = fields.field("disk") else {
        let mut copies = copies;
        let Some(copy) = copies.next() else {
            return Some(None);
        };
        cx.push(
            Problem::new(Code::MissingKey, copy.span, "the domain has no disk")
                .key(fields.key_path("disk"))
                .expected("`disk` in the domain")
                .hint("add `disk = { kind = \"loopback\", size = \"1G\" }` to the [[domain]]"),
        );
        return None;
    };
    let key_span = field.key_span;
    let node = fields.node("disk")?;
    let path = fields.key_path("disk");
    let own = check::table(cx, node.as_table()?, node.span, &DISK, &path, None);
    let backend = match own.field("backend") {
        None => None,
        Some(field) => Some((own.text("backend")?, field.span)),
    };
    own.variant?;
    let bytes = own.bytes("size")?;
    let mut good = true;
    for copy in copies {
        if let Some(wanted) = copy.bytes.filter(|wanted| *wanted > bytes) {
            good = false;
            cx.push(
                Problem::new(
                    Code::Conflict,
                    copy.span,
                    format!("the disk has {bytes} bytes"),
                )
                .key(format!("{}.bytes", fields.path))
                .found(wanted.to_string())
                .expected(format!("{bytes} at most"))
                .related(own.span("size"), "how large it is")
                .hint("without `bytes` it is the whole disk"),
            );
        }
    }
    good.then_some(Some(Disk {
        bytes,
        backend,
        path,
        span: key_span,
    }))
}

/// The way through a disk that `fields` describe.
pub(super) fn copy(fields: &Fields<'_>) -> Option<DiskCopy> {
    let asks = ["bytes", "workload"];
    let asks = asks.iter().find_map(|key| fields.field(key));
    Some(DiskCopy {
        direction: match fields.text("direction")?.as_str() {
            "read" => CopyDirection::Read,
            _ => CopyDirection::Write,
        },
        block: fields.bytes("block")?,
        bytes: match fields.field("bytes") {
            None => None,
            Some(_) => Some(fields.bytes("bytes")?),
        },
        span: asks.map_or(fields.header, |field| field.span),
    })
}

/// Disks that ask for their driver domain in the same words: how, and of which domains they are.
type Together<'a> = (Option<&'a (String, Span)>, Vec<(usize, &'a Disk)>);

/// The disks of the host by their driver domains, in the order of the text; those that something is
/// wrong with are left out.
pub(super) fn disks(cx: &mut Cx<'_>, host: &Fields<'_>, resolved: &Resolved) -> Vec<Disks> {
    // Disks of one driver domain that ask for it in the same place share what is wrong with it.
    let mut asked: Vec<Together<'_>> = Vec::new();
    for (i, domain) in resolved.domains.iter().enumerate() {
        let Some(disk) = &domain.disk else { continue };
        let backend = disk.backend.as_ref();
        match asked.iter_mut().find(|(b, _)| *b == backend) {
            Some((_, users)) => users.push((i, disk)),
            None => asked.push((backend, vec![(i, disk)])),
        }
    }
    if asked.is_empty() {
        return Vec::new();
    }
    let profile = host.text("profile");
    let profile = profile.and_then(|name| Profile::by_name(&name));
    let costs = profile.map(|profile| costs(cx, profile));
    let mut all: Vec<Disks> = Vec::new();
    for (backend, disks) in asked {
        let users = Users {
            what: "disk",
            key: format!("{}.backend", disks[0].1.path),
            says: "`backend` of [domain.disk]",
            chosen: backend.map(|(_, span)| *span),
            all: disks.iter().map(|(i, disk)| (*i, disk.span)).collect(),
        };
        let found = match backend {
            Some((name, span)) => driver::named(cx, name, *span, &users, resolved),
            None => driver::default(cx, &users, resolved),
        };
        let (Some(found), Some(costs)) = (found, costs) else {
            continue;
        };
        driver::serves(cx, found, &users, resolved);
        let config = |(i, disk): &(usize, &Disk)| DiskConfig {
            domain: resolved.domains[*i].config.id,
            bytes: disk.bytes,
        };
        let configs = disks.iter().map(config);
        let users = disks.iter().map(|(i, _)| *i);
        match all.iter_mut().find(|d| d.driver == found) {
            Some(same) => {
                same.config.disks.extend(configs);
                same.users.extend(users);
            }
            None => all.push(Disks {
                config: LoopbackConfig {
                    driver: resolved.domains[found].config.id,
                    costs,
                    disks: configs.collect(),
                },
                driver: found,
                users: users.collect(),
            }),
        }
    }
    all
}

/// What work on requests costs.
fn costs(cx: &mut Cx<'_>, profile: &Profile) -> LoopbackCosts {
    if *profile == Profile::OPTERON_242 {
        return LoopbackCosts::OPTERON_242;
    }
    if !profile.is_free() {
        cx.notices.push(format!(
            "the hardware profile {} does not know what a disk costs: its work takes no time",
            profile.name
        ));
    }
    LoopbackCosts::FREE
}
