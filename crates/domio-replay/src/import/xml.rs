//! Domains of libvirt (<https://libvirt.org/formatdomain.html>), and its `capabilities`.

use super::cpus::cpus;
use super::found::{
    EMULATOR, Guest, ImportError, ImportFiles, ImportPlace, Kind, QemuDisk, Told, VCPUS_MAX, at,
    io_thread, number, vcpus,
};
use roxmltree::{Document, Node, ParsingOptions};
use std::collections::BTreeSet;

/// Most elements and texts of a file: `capabilities` of a large host has some ten thousand.
const NODES_MAX: u32 = 1_000_000;

/// Ranges of cgroup v2, within which libvirt keeps what it sets.
pub(super) const WEIGHTS: (i64, i64) = (1, 10_000);
pub(crate) const PERIODS: (i64, i64) = (1_000, 1_000_000);
pub(crate) const QUOTAS: (i64, i64) = (1_000, 1_000_000_000);

/// Shares that hosts with cgroup v1 give each guest.
const V1_SHARES: i64 = 1_024;

struct Reader<'r, 'd> {
    files: &'r mut ImportFiles,
    document: &'d Document<'d>,
    file: &'r str,
}

pub(super) fn read(files: &mut ImportFiles, text: &str, file: &str) -> Result<(), ImportError> {
    let options = ParsingOptions {
        nodes_limit: NODES_MAX,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        let line = (error.pos().row as usize).max(1);
        let found = text.lines().nth(line - 1).unwrap_or_default();
        ImportError::wrong(&at(file, line), found, format!("XML ({error})"))
    })?;
    let mut reader = Reader {
        files,
        document: &document,
        file,
    };
    let root = document.root_element();
    if root.has_tag_name("capabilities") {
        return reader.capabilities(root);
    }
    // Snapshots and states of domains have one within.
    let domains: Vec<Node<'_, '_>> = match root.has_tag_name("domain") {
        true => vec![root],
        false => {
            let all = root
                .descendants()
                .filter(|node| node.has_tag_name("domain"));
            all.filter(|node| child(*node, "name").is_some()).collect()
        }
    };
    if domains.is_empty() {
        let found = format!("<{}>", root.tag_name().name());
        let expected = "<domain>, as `virsh dumpxml GUEST` prints, or <capabilities>, as `virsh \
                        capabilities` does";
        return Err(ImportError::wrong(&reader.place(root), &found, expected));
    }
    domains
        .into_iter()
        .try_for_each(|domain| reader.domain(domain))
}

impl<'d> Reader<'_, 'd> {
    fn place(&self, node: Node<'d, 'd>) -> ImportPlace {
        let row = self.document.text_pos_at(node.range().start).row;
        at(self.file, row as usize)
    }

    fn domain(&mut self, domain: Node<'d, 'd>) -> Result<(), ImportError> {
        let place = self.place(domain);
        let kind = match domain.attribute("type") {
            Some("xen") => Kind::Xen,
            Some("kvm" | "qemu") | None => Kind::Linux,
            Some(other) => {
                let expected = "a domain of type kvm, qemu or xen";
                return Err(ImportError::wrong(&place, other, expected));
            }
        };
        self.files.is_of(kind, &place)?;
        let name = child(domain, "name").map(|name| text(name).to_owned());
        let name = name.filter(|name| !name.is_empty()).ok_or_else(|| {
            ImportError::wrong(&place, "<domain>", "a <name> in it, which names the guest")
        })?;
        let mut guest = self.files.guest(&name, &place).clone();
        if let Some(node) = child(domain, "vcpu") {
            self.vcpus(node, &mut guest)?;
        }
        if kind == Kind::Linux {
            guest.libvirt.get_or_insert_with(|| place.clone());
            self.io_threads(domain, &mut guest)?;
            self.disks(domain, &name, &mut guest)?;
        }
        if let Some(tune) = child(domain, "cputune") {
            match kind {
                Kind::Linux => self.tune(tune, &mut guest)?,
                Kind::Xen => self.tune_xen(tune, &mut guest)?,
            }
        }
        *self.files.guest(&name, &place) = guest;
        self.rest(domain, &name, kind);
        Ok(())
    }

    fn vcpus(&mut self, node: Node<'d, 'd>, guest: &mut Guest) -> Result<(), ImportError> {
        let place = self.place(node);
        let most = text(node);
        let now = node.attribute("current").unwrap_or(most);
        if now != most {
            let what = format!("{most} vcpus at most, of which {now} are plugged in");
            self.files.leave_out(what, &place);
        }
        if guest.vcpus.is_none() {
            guest.vcpus = Some(vcpus(now, &place)?);
        }
        if let Some(set) = node.attribute("cpuset")
            && let Some(value) = cpus(set, &place)?
            && guest.pin.is_none()
        {
            guest.pin = Some(Told { value, at: place });
        }
        Ok(())
    }

    /// `<iothreads>` and `<iothreadids>`: threads with the lowest numbers that are free, and with
    /// given ones.
    fn io_threads(&mut self, domain: Node<'d, 'd>, guest: &mut Guest) -> Result<(), ImportError> {
        let mut taken = BTreeSet::new();
        let ids = child(domain, "iothreadids").into_iter();
        for node in ids.flat_map(|ids| ids.children().filter(|n| n.has_tag_name("iothread"))) {
            let id = self.io_thread(node, "id", guest)?;
            taken.insert(id);
        }
        let Some(node) = child(domain, "iothreads") else {
            return Ok(());
        };
        let place = self.place(node);
        let count = number(text(node), (0, VCPUS_MAX), "a number of threads", &place)?;
        for id in 1.. {
            if taken.len() as i64 >= count {
                break;
            }
            if taken.insert(id) {
                guest.thread(&io_thread(&format!("iothread{id}")), &place);
            }
        }
        Ok(())
    }

    /// The I/O thread whose number `node` has as `attribute`.
    fn io_thread(
        &mut self,
        node: Node<'d, 'd>,
        attribute: &str,
        guest: &mut Guest,
    ) -> Result<i64, ImportError> {
        let place = self.place(node);
        let id = node.attribute(attribute).unwrap_or_default();
        let id = number(id, (1, 99_999), "the number of an I/O thread", &place)?;
        guest.thread(&io_thread(&format!("iothread{id}")), &place);
        Ok(id)
    }

    /// The pcpus of a thread of QEMU.
    fn thread_pin(
        &mut self,
        node: Node<'d, 'd>,
        thread: &str,
        guest: &mut Guest,
    ) -> Result<(), ImportError> {
        let place = self.place(node);
        let set = node.attribute("cpuset").unwrap_or_default();
        let thread = guest.thread(thread, &place);
        if let Some(value) = cpus(set, &place)? {
            thread.pin.get_or_insert(Told { value, at: place });
        }
        Ok(())
    }

    /// `<cputune>` of KVM: control groups.
    fn tune(&mut self, tune: Node<'d, 'd>, guest: &mut Guest) -> Result<(), ImportError> {
        for node in tune.children().filter(Node::is_element) {
            let place = self.place(node);
            let told = text(node);
            let limit = LIMITS.iter().find(|(name, ..)| node.has_tag_name(*name));
            if let Some((_, key, is_quota)) = limit {
                let value = match is_quota {
                    true => quota(told, &place)?,
                    false => number(told, PERIODS, "a period in us", &place)?,
                };
                guest.set(key, value, &place);
                continue;
            }
            match node.tag_name().name() {
                "shares" => {
                    let n = number(told, (1, 262_144), "shares", &place)?;
                    if n >= V1_SHARES {
                        let what = format!(
                            "shares of {n} are `cpu.weight`, as on hosts with cgroup v2; on a host \
                             with cgroup v1 1024 stand for a weight of 100"
                        );
                        self.files.assume(what, &place);
                    }
                    guest.set("weight", n.clamp(WEIGHTS.0, WEIGHTS.1), &place);
                }
                "vcpupin" => self.vcpu_pin(node, guest)?,
                "emulatorpin" => self.thread_pin(node, EMULATOR, guest)?,
                "iothreadpin" => {
                    let id = self.io_thread(node, "iothread", guest)?;
                    self.thread_pin(node, &io_thread(&format!("iothread{id}")), guest)?;
                }
                "emulatorsched" | "iothreadsched" => {
                    let what = format!("<{}>: threads of QEMU", node.tag_name().name());
                    self.files.leave_out(what, &place);
                }
                other => {
                    let what = format!("<{other}>");
                    self.files.leave_out(what, &place);
                }
            }
        }
        Ok(())
    }

    /// Disks of virtio-blk: the thread that serves each, and what else is said of them.
    fn disks(
        &mut self,
        domain: Node<'d, 'd>,
        name: &str,
        guest: &mut Guest,
    ) -> Result<(), ImportError> {
        // Another file has them already.
        if !guest.disks.is_empty() {
            return Ok(());
        }
        for node in domain.descendants().filter(is_virtio_disk) {
            let place = self.place(node);
            let target = child(node, "target").and_then(|target| target.attribute("dev"));
            let mut thread = EMULATOR.to_owned();
            if let Some(driver) = child(node, "driver") {
                if driver.has_attribute("iothread") {
                    let id = self.io_thread(driver, "iothread", guest)?;
                    thread = io_thread(&format!("iothread{id}"));
                }
                for key in ["io", "cache", "queues"] {
                    let Some(value) = driver.attribute(key) else {
                        continue;
                    };
                    if (key, value) != ("cache", "none") && (key, value) != ("io", "native") {
                        let of = target.unwrap_or("a disk");
                        let what = format!("{key}={value} of {of} of {name}");
                        self.files.leave_out(what, &self.place(driver));
                    }
                }
                if child(driver, "iothreads").is_some() {
                    let what = format!("several I/O threads of a disk of {name}: one serves it");
                    self.files.leave_out(what, &self.place(driver));
                }
            }
            guest.disks.push(QemuDisk {
                name: target.map(str::to_owned),
                thread,
                at: place,
            });
        }
        Ok(())
    }

    fn vcpu_pin(&mut self, node: Node<'d, 'd>, guest: &mut Guest) -> Result<(), ImportError> {
        let place = self.place(node);
        let (Some(vcpu), Some(set)) = (node.attribute("vcpu"), node.attribute("cpuset")) else {
            let expected = "`vcpu` and `cpuset`";
            return Err(ImportError::wrong(&place, "<vcpupin>", expected));
        };
        let vcpu = number(vcpu, (0, VCPUS_MAX - 1), "the number of a vcpu", &place)? as u16;
        if let Some(value) = cpus(set, &place)? {
            guest.pins.entry(vcpu).or_insert(Told { value, at: place });
        }
        Ok(())
    }

    /// `<cputune>` of Xen: a weight and pins.
    fn tune_xen(&mut self, tune: Node<'d, 'd>, guest: &mut Guest) -> Result<(), ImportError> {
        for node in tune.children().filter(Node::is_element) {
            let place = self.place(node);
            match node.tag_name().name() {
                "shares" => {
                    let n = number(text(node), (1, 65_535), "a weight", &place)?;
                    guest.set("weight", n, &place);
                }
                "vcpupin" => self.vcpu_pin(node, guest)?,
                other => {
                    let what = format!("<{other}>, which Xen does not have");
                    self.files.leave_out(what, &place);
                }
            }
        }
        Ok(())
    }

    /// What a scenario has no place for, or another one.
    fn rest(&mut self, domain: Node<'d, 'd>, name: &str, kind: Kind) {
        let find = |tag: &str| {
            domain
                .descendants()
                .filter(|n| n.has_tag_name(tag))
                .collect()
        };
        let interfaces: Vec<Node<'_, '_>> = find("interface");
        let mut disks: Vec<Node<'_, '_>> = find("disk");
        disks.retain(|node| kind == Kind::Xen || !is_virtio_disk(node));
        let disk_instead = match kind {
            Kind::Xen => "`disk` of the domain",
            Kind::Linux => "only virtio-blk is modelled",
        };
        for (nodes, what, instead) in [
            (interfaces, "network interface", "`vif` of the domain"),
            (disks, "disk", disk_instead),
        ] {
            if let Some(first) = nodes.first() {
                let plural = if nodes.len() == 1 { "" } else { "s" };
                let what = format!("{} {what}{plural} of {name}: {instead}", nodes.len());
                self.files.leave_out(what, &self.place(*first));
            }
        }
        let threads = [
            ("numatune", "memory of NUMA nodes"),
            ("memtune", "limits of memory"),
            ("blkiotune", "weights of disks"),
            ("resource", "its partition of control groups"),
        ];
        for (tag, what) in threads {
            if let Some(node) = child(domain, tag) {
                self.files
                    .leave_out(format!("<{tag}> of {name}: {what}"), &self.place(node));
            }
        }
    }

    /// The host's own description: its pcpus, and which of them share a core or a socket.
    fn capabilities(&mut self, root: Node<'d, 'd>) -> Result<(), ImportError> {
        let all = root.descendants().filter(|node| node.has_tag_name("cpu"));
        let all = all.filter(|node| node.attribute("id").is_some());
        let all: Vec<Node<'_, '_>> = all.collect();
        let place = self.place(*all.first().unwrap_or(&root));
        let most = domio_core::cpuset::MAX_PCPUS;
        if all.is_empty() || all.len() > most {
            let found = format!("{} <cpu> with an id", all.len());
            let expected = format!("one for each pcpu, {most} at most");
            return Err(ImportError::wrong(&place, &found, expected));
        }
        let distinct = |keys: &[&str]| {
            let key = |node: &Node<'d, 'd>| -> Vec<&'d str> {
                keys.iter()
                    .map(|key| node.attribute(*key).unwrap_or_default())
                    .collect()
            };
            all.iter()
                .map(key)
                .collect::<std::collections::BTreeSet<_>>()
                .len() as u16
        };
        let pcpus = all.len() as u16;
        let (sockets, cores) = (
            distinct(&["socket_id"]),
            distinct(&["socket_id", "core_id"]),
        );
        let machine = &mut self.files.machine;
        machine.pcpus = Some(Told {
            value: pcpus,
            at: place,
        });
        machine.shape = Some([sockets, cores / sockets.max(1), pcpus / cores.max(1)]);
        Ok(())
    }
}

/// Elements of `<cputune>` that limit, the key for each, and whether that is a quota.
const LIMITS: [(&str, &str, bool); 8] = [
    ("global_period", "period_us", false),
    ("global_quota", "quota_us", true),
    ("period", "vcpu_period_us", false),
    ("quota", "vcpu_quota_us", true),
    ("emulator_period", "emulator_period_us", false),
    ("emulator_quota", "emulator_quota_us", true),
    ("iothread_period", "iothread_period_us", false),
    ("iothread_quota", "iothread_quota_us", true),
];

/// A quota in us; what is not over 0 is none.
fn quota(told: &str, place: &ImportPlace) -> Result<i64, ImportError> {
    match told.parse::<i128>().is_ok_and(|n| n <= 0) {
        true => Ok(0),
        false => number(told, QUOTAS, "a quota in us, or -1 for none", place),
    }
}

/// Whether `node` is a disk of virtio-blk.
fn is_virtio_disk(node: &Node<'_, '_>) -> bool {
    let Some(target) = child(*node, "target").filter(|_| node.has_tag_name("disk")) else {
        return false;
    };
    let is_disk = node
        .attribute("device")
        .is_none_or(|device| device == "disk");
    let by_name = || {
        target
            .attribute("dev")
            .is_some_and(|dev| dev.starts_with("vd"))
    };
    is_disk
        && target
            .attribute("bus")
            .map_or_else(by_name, |bus| bus == "virtio")
}

fn child<'d>(node: Node<'d, 'd>, name: &str) -> Option<Node<'d, 'd>> {
    node.children().find(|child| child.has_tag_name(name))
}

fn text<'d>(node: Node<'d, 'd>) -> &'d str {
    node.text().unwrap_or_default().trim()
}
