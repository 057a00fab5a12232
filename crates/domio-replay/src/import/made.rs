//! The scenario of what files say.

use super::found::{
    Guest, ImportError, ImportFiles, ImportNote, ImportOptions, ImportPlace, ImportedHost, Kind,
};
use crate::draft::domain::{Domain, Group, Setting, plain, unique};
use crate::draft::{Draft, write};
use crate::from_lists::demand::tasks;
use domio_contract::Policy;
use domio_core::{ParamKind, ParamSpec, XenVersion};
use domio_scenario::{MAX_VCPUS, Scenario};
use std::collections::{BTreeMap, BTreeSet};

/// The release of Linux whose rules hold where nothing says which one it is.
const LINUX: &str = "6.12";
/// All of them.
const LINUX_RELEASES: [&str; 6] = ["6.1", "6.12", "6.18", "7.0", "7.2", "7.3"];
/// Likewise of Xen.
const XEN: &str = "4.17";

/// The machine of a host with KVM.
const KVM_MACHINE: &str = "kvm-2020";
/// The one of a host with Xen, whose work takes no time.
const FREE: &str = "ideal";

/// The text of a scenario of the host that `files` describe.
///
/// # Errors
/// When they have no guest, contradict each other, or cannot be one host.
pub fn scenario(
    files: &ImportFiles,
    options: &ImportOptions,
    policies: &[Policy],
) -> Result<ImportedHost, ImportError> {
    let Some((kind, _)) = files.kind.as_ref().filter(|_| !files.guests.is_empty()) else {
        return Err(ImportError::Unusable(
            "the files have no guest; give `virsh dumpxml GUEST`, a configuration of xl, the \
             control groups of the guests or command lines of QEMU"
                .to_owned(),
        ));
    };
    let mut made = Made {
        files,
        options,
        draft: Draft {
            title: format!("The host of {}", shown(&files.files)),
            run: vec![
                ("warmup_s", "1".to_owned()),
                ("duration_s", "10".to_owned()),
            ],
            ..Draft::default()
        },
        host: ImportedHost {
            assumed: files.assumed.clone(),
            left_out: files.left_out.clone(),
            ..ImportedHost::default()
        },
        disks: 0,
    };
    made.machine()?;
    let policy = made.policy(*kind, policies)?;
    made.profile(*kind);
    made.slices(policy);
    let mut names = BTreeSet::new();
    for (n, (name, guest)) in files.guests.iter().enumerate() {
        // Domain 0 of Xen is not among them.
        let id = u16::try_from(n + 1).unwrap_or(u16::MAX);
        made.guest((name, id), guest, policy, &mut names)?;
    }
    made.remarks(*kind);
    made.finish(policies)
}

/// Names of files: the first ones, and how many more there are.
fn shown(files: &[String]) -> String {
    const SHOWN: usize = 3;
    match files.len() {
        n if n > SHOWN + 1 => format!("{} and {} more files", files[..SHOWN].join(", "), n - SHOWN),
        _ => files.join(", "),
    }
}

/// The drive of the host, its model, and the size of a guest's disk on it.
const DRIVE: &str = "nvme0n1";
const DRIVE_MODEL: &str = "nvme";
const DISK_SIZE: &str = "1G";
/// Disks of that size for which it has room.
const DISKS_MAX: usize = 200;

struct Made<'f> {
    files: &'f ImportFiles,
    options: &'f ImportOptions,
    draft: Draft,
    host: ImportedHost,
    /// Disks of guests so far.
    disks: usize,
}

impl Made<'_> {
    fn take(&mut self, what: impl Into<String>, place: &ImportPlace) {
        self.host.taken.push(ImportNote {
            what: what.into(),
            place: Some(place.clone()),
        });
    }

    fn assume(&mut self, what: impl Into<String>) {
        self.host.assumed.push(ImportNote {
            what: what.into(),
            place: None,
        });
    }

    fn unknown(&mut self, what: impl Into<String>) {
        self.host.unknown.push(ImportNote {
            what: what.into(),
            place: None,
        });
    }

    /// Pcpus and their arrangement.
    fn machine(&mut self) -> Result<(), ImportError> {
        let guests = || self.files.guests.iter().map(|(_, guest)| guest);
        let sets = guests().flat_map(|guest| {
            let threads = guest.threads.iter().filter_map(|t| t.pin.as_ref());
            let single = guest.pins.values().chain(guest.softs.values());
            threads.chain(single).chain(&guest.pin).chain(&guest.soft)
        });
        let last = sets.filter_map(|told| Some((*told.value.last()?, told.at.clone())));
        let last = last.max_by_key(|(last, _)| *last);
        let named = last.as_ref().map_or(0, |(last, _)| last + 1);
        let machine = &self.files.machine;
        let told = self.options.pcpus.map(|n| (n, None));
        let told = told.or_else(|| {
            machine
                .pcpus
                .as_ref()
                .map(|t| (t.value, Some(t.at.clone())))
        });
        let Some((pcpus, place)) = told else {
            let vcpus = guests().map(|guest| guest.vcpus.as_ref().map_or(1, |told| told.value));
            let pcpus = named.max(vcpus.max().unwrap_or(1));
            self.draft.pcpus = pcpus;
            self.draft.host = vec![("cores", pcpus.to_string())];
            self.assume(format!(
                "{pcpus} pcpus, of cores without threads in one socket: no file shows more"
            ));
            self.unknown(
                "how many pcpus the host has: `lscpu` or `virsh capabilities`, or --pcpus",
            );
            return Ok(());
        };
        if let Some((_, at)) = last.filter(|_| named > pcpus) {
            let found = format!("pcpu {}", named - 1);
            let expected = format!("pcpus below {pcpus}, as many as the host has");
            return Err(ImportError::wrong(&at, &found, expected));
        }
        self.draft.pcpus = pcpus;
        if let Some(place) = place {
            self.take(format!("{pcpus} pcpus"), &place);
        }
        let shape = machine.shape.filter(|shape| {
            let all: u32 = shape.iter().map(|n| u32::from(*n)).product();
            all == u32::from(pcpus)
        });
        self.draft.host = match shape {
            Some([sockets, cores, threads]) => vec![
                ("sockets", sockets.to_string()),
                ("cores", cores.to_string()),
                ("threads", threads.to_string()),
            ],
            None => {
                self.assume("cores without threads in one socket");
                vec![("cores", pcpus.to_string())]
            }
        };
        Ok(())
    }

    /// The scheduler with its release.
    fn policy<'p>(
        &mut self,
        kind: Kind,
        policies: &'p [Policy],
    ) -> Result<Option<&'p Policy>, ImportError> {
        let told = self.options.release.as_deref();
        let release = told.unwrap_or(match kind {
            Kind::Linux => LINUX,
            Kind::Xen => XEN,
        });
        let (name, param) = match kind {
            Kind::Linux if release == "6.1" => ("cfs", "release"),
            Kind::Linux => ("eevdf", "release"),
            Kind::Xen => {
                let version = XenVersion::of_release(release).ok_or_else(|| {
                    ImportError::Unusable(format!(
                        "--release {release}: the files are of a Xen host, and that is no release \
                         of Xen, e.g. 4.17"
                    ))
                })?;
                let xen = format!("\"{}\"", version.name());
                self.draft.host.insert(0, ("xen", xen));
                match version < XenVersion::V4_12 {
                    true => ("credit", "version"),
                    false => ("credit2", "version"),
                }
            }
        };
        let policy = policies
            .iter()
            .find(|policy| policy.descriptor.name == name);
        let spec = policy.and_then(|p| p.descriptor.params.iter().find(|s| s.name == param));
        let words = match spec.map(|spec| spec.kind) {
            Some(ParamKind::Choice(words)) => words,
            _ => &[],
        };
        if !words.contains(&release) {
            let known = match kind {
                Kind::Linux => LINUX_RELEASES.join(", "),
                Kind::Xen => words.join(", "),
            };
            return Err(ImportError::Unusable(format!(
                "--release {release}: there are the rules of {known}"
            )));
        }
        self.draft.policy = name.to_owned();
        self.draft
            .params
            .push((param.to_owned(), format!("\"{release}\"")));
        if told.is_none() {
            let system = match kind {
                Kind::Linux => "Linux",
                Kind::Xen => "Xen",
            };
            self.assume(format!("rules of {name} of {system} {release}"));
            let command = match kind {
                Kind::Linux => "`uname -r`",
                Kind::Xen => "`xl info` (xen_version, xen_scheduler)",
            };
            self.unknown(format!("the release of the host: {command}, and --release"));
        }
        Ok(policy)
    }

    /// The hypervisor, and what its work costs.
    fn profile(&mut self, kind: Kind) {
        let usual = match kind {
            Kind::Linux => KVM_MACHINE,
            Kind::Xen => FREE,
        };
        let told = self.options.profile.as_deref();
        let profile = ("profile", write::quoted(told.unwrap_or(usual)));
        self.draft.host.insert(0, profile);
        if kind == Kind::Linux {
            let kvm = ("hypervisor", write::quoted("kvm"));
            self.draft.host.insert(0, kvm);
        }
        if told.is_none() {
            self.assume(match kind {
                Kind::Linux => format!("costs of the machine {usual} (--profile)"),
                Kind::Xen => "a hypervisor whose work takes no time (--profile)".to_owned(),
            });
        }
    }

    /// Control groups around guests.
    fn slices(&mut self, policy: Option<&Policy>) {
        let specs = policy.map_or(&[][..], |policy| policy.descriptor.group_params);
        let mut names = BTreeSet::new();
        for (n, slice) in self.files.slices.iter().enumerate() {
            let told = slice.path.rsplit('/').next();
            let n = u16::try_from(n + 1).unwrap_or(u16::MAX);
            let name = unique(&plain(told, n), n, &mut names);
            let mut remarks = Vec::new();
            if told != Some(&name) {
                remarks.push(format!("It is {:?}.", slice.path));
            }
            self.take(format!("group {name}"), &slice.settings.at);
            let params = self.params(&slice.settings, &name, None, specs);
            let parent = slice.parent.map(|at| self.draft.groups[at].name.clone());
            self.draft.groups.push(Group {
                name,
                parent,
                params,
                remarks,
            });
        }
    }

    /// Threads of QEMU beside the vcpus of the guest `name`.
    fn threads(&mut self, guest: &Guest, name: &str) -> Vec<Vec<Setting>> {
        let mut tables = Vec::new();
        for thread in &guest.threads {
            self.take(format!("thread {:?} of {name}", thread.name), &thread.at);
            let mut keys = vec![("name", write::quoted(&thread.name))];
            let pin = thread.pin.as_ref().or(guest.pin.as_ref());
            let words = pin.map(|told| words(&told.value, self.draft.pcpus));
            if let Some(words) = words.filter(|words| words != "all") {
                keys.push(("pin", write::quoted(&words)));
            }
            keys.push(("workload", write::quoted("idle")));
            tables.push(keys);
        }
        tables
    }

    /// Disks of the guest `name`, each a part of one drive of the host.
    fn disks(&mut self, guest: &Guest, name: &str) -> Vec<Vec<Setting>> {
        let mut names = BTreeSet::new();
        let mut tables = Vec::new();
        for (n, disk) in guest.disks.iter().enumerate() {
            let n = u16::try_from(n + 1).unwrap_or(u16::MAX);
            if self.disks >= DISKS_MAX {
                self.host.left_out.push(ImportNote {
                    what: format!("a disk of {name}: the drive has room for {DISKS_MAX}"),
                    place: Some(disk.at.clone()),
                });
                continue;
            }
            if self.disks == 0 {
                self.draft.disks.push(vec![
                    ("name", write::quoted(DRIVE)),
                    ("profile", write::quoted(DRIVE_MODEL)),
                    ("elevator", write::quoted("none")),
                ]);
                self.assume(format!(
                    "one drive, of the model {DRIVE_MODEL}; each disk of a guest is a part of it \
                     of {DISK_SIZE}"
                ));
                self.unknown("the host's drives, and which disk is on which: `lsblk`, fio");
            }
            self.disks += 1;
            // As Linux names them: vda, vdb and so on.
            let letter = u32::from(n) + u32::from(b'a') - 1;
            let next = char::from_u32(letter).filter(char::is_ascii_lowercase);
            let next = next.map_or_else(|| format!("vd{n}"), |letter| format!("vd{letter}"));
            let told = disk.name.as_deref().unwrap_or(&next);
            let disk_name = unique(&plain(Some(told), n), n, &mut names);
            self.take(
                format!("disk {disk_name} of {name}, served by {:?}", disk.thread),
                &disk.at,
            );
            tables.push(vec![
                ("kind", write::quoted("vbd")),
                ("name", write::quoted(&disk_name)),
                ("size", write::quoted(DISK_SIZE)),
                ("iothread", write::quoted(&disk.thread)),
            ]);
        }
        tables
    }

    /// One guest.
    fn guest(
        &mut self,
        (told, id): (&str, u16),
        guest: &Guest,
        policy: Option<&Policy>,
        names: &mut BTreeSet<String>,
    ) -> Result<(), ImportError> {
        let name = unique(&plain(Some(told), id), id, names);
        let mut remarks = Vec::new();
        if told != name {
            remarks.push(format!("It is called {told:?}."));
        }
        self.take(format!("guest {name}"), &guest.at);
        let pinned = guest
            .pins
            .keys()
            .chain(guest.softs.keys())
            .max()
            .map(|last| last + 1);
        let vcpus = match &guest.vcpus {
            Some(vcpus) => {
                self.take(format!("{} vcpus of {name}", vcpus.value), &vcpus.at);
                vcpus.value
            }
            None => {
                let n = pinned.unwrap_or(1);
                self.assume(format!("{n} vcpus of {name}: no file shows the number"));
                n
            }
        };
        if pinned.is_some_and(|n| n > vcpus) {
            let mut all = guest.pins.range(vcpus..).chain(guest.softs.range(vcpus..));
            if let Some((vcpu, pin)) = all.next() {
                let what = format!("pin of vcpu {vcpu} of {name}, which has {vcpus} vcpus");
                self.host.left_out.push(ImportNote {
                    what,
                    place: Some(pin.at.clone()),
                });
            }
        }
        let specs = policy.map_or(&[][..], |policy| policy.descriptor.domain_params);
        let params = self.params(guest, &name, Some(vcpus), specs);
        let threads = self.threads(guest, &name);
        let disks = self.disks(guest, &name);
        let affinity = self.affinity(guest, &name, vcpus);
        let percent = self.options.load_pct;
        remarks.push(match percent {
            100 => "Assumed: each vcpu takes all the time that it can get.".to_owned(),
            _ => format!("Assumed: each vcpu is busy for {percent} % of the time."),
        });
        let loads = vec![u64::from(percent) * 10; usize::from(vcpus)];
        self.draft.domains.push(Domain {
            id,
            name,
            vcpus,
            group: guest.slice.map(|at| self.draft.groups[at].name.clone()),
            params,
            affinity,
            own: BTreeMap::new(),
            tasks: tasks(&loads, self.options.work_us),
            threads,
            disks,
            remarks,
        });
        Ok(())
    }

    /// Keys of the policy, of `specs`, that files have for a guest with so many vcpus, or for a
    /// group.
    fn params(
        &mut self,
        guest: &Guest,
        name: &str,
        vcpus: Option<u16>,
        specs: &[ParamSpec],
    ) -> Vec<Setting> {
        let mut params: Vec<Setting> = Vec::new();
        let has = |key: &str| specs.iter().any(|spec| spec.name == key);
        let quota_of = |key: &str| guest.numbers.get(key).map_or(0, |told| told.value);
        let quota = quota_of("quota_us");
        if let Some(place) = guest.libvirt.as_ref().filter(|_| has("layout")) {
            self.take(format!("layout = \"libvirt\" of {name}"), place);
            params.push(("layout", write::quoted("libvirt")));
        }
        for (key, told) in &guest.numbers {
            let value = told.value;
            // What belongs to a quota counts for nothing without one.
            let of = ["period_us", "burst_us", "quota_us"].into_iter();
            let of = of.filter_map(|end| key.strip_suffix(end)).next();
            if of.is_some_and(|of| quota_of(&format!("{of}quota_us")) == 0) {
                continue;
            }
            let most = vcpus.map_or(i64::MAX, |vcpus| 100 * i64::from(vcpus));
            let why = match *key {
                // Xen takes such a cap, which has no effect.
                "cap" if value > most => format!("its vcpus cannot use more than {most} %"),
                "burst_us" if value > quota => "Linux has none above the quota".to_owned(),
                key if !has(key) => "the policy has none".to_owned(),
                key => {
                    self.take(format!("{key} = {value} of {name}"), &told.at);
                    params.push((key, value.to_string()));
                    continue;
                }
            };
            self.host.left_out.push(ImportNote {
                what: format!("{key} = {value} of {name}: {why}"),
                place: Some(told.at.clone()),
            });
        }
        if let Some(told) = guest.idle.as_ref().filter(|told| told.value && has("idle")) {
            self.take(format!("idle = true of {name}"), &told.at);
            params.push(("idle", "true".to_owned()));
        }
        params
    }

    /// Values of `pin` and `soft`.
    fn affinity(&mut self, guest: &Guest, name: &str, vcpus: u16) -> Vec<Setting> {
        let kinds = [
            ("pin", &guest.pins, &guest.pin),
            ("soft", &guest.softs, &guest.soft),
        ];
        let all: Vec<u16> = (0..self.draft.pcpus).collect();
        let mut found = Vec::new();
        for (key, single, together) in kinds {
            let of = |vcpu: u16| single.get(&vcpu).or(together.as_ref());
            let sets = (0..vcpus).map(|vcpu| of(vcpu).map_or(&all[..], |told| &told.value));
            let words: Vec<String> = sets.map(|set| words(set, self.draft.pcpus)).collect();
            if words.iter().all(|word| word == "all") {
                continue;
            }
            let place = (0..vcpus).find_map(of).map(|told| told.at.clone());
            if let Some(place) = place {
                self.take(format!("{key} of {name}"), &place);
            }
            let value = match words.iter().all(|word| *word == words[0]) {
                true => write::quoted(&words[0]),
                false => {
                    let each: Vec<String> = words.iter().map(|word| write::quoted(word)).collect();
                    format!("[{}]", each.join(", "))
                }
            };
            found.push((key, value));
        }
        found
    }

    /// What holds for all guests.
    fn remarks(&mut self, kind: Kind) {
        let what = match self.options.load_pct {
            100 => "takes all the time that it can get".to_owned(),
            percent => format!("is busy for {percent} % of the time"),
        };
        self.assume(format!(
            "each vcpu {what} (--load {})",
            self.options.load_pct
        ));
        match self.draft.disks.is_empty() {
            true => self.assume("no traffic and no disks"),
            false => self.assume("no traffic, and disks without requests"),
        }
        match kind {
            Kind::Linux => {
                self.assume(
                    "threads of QEMU that files name sleep, and no others are there: give their \
                     tables a workload",
                );
                self.unknown(
                    "the load of the guests, and when they work: `domio record` or `perf sched \
                     record` (docs/linux.md)",
                );
            }
            Kind::Xen => {
                self.assume("dom0 takes no time");
                self.unknown(
                    "the load of the guests, and when they work: half a minute of `xentrace` \
                     (docs/trace-analysis.md), or two outputs of `xl list` (`scenario from-lists`)",
                );
            }
        }
    }

    /// Writes the scenario, and checks it.
    fn finish(mut self, policies: &[Policy]) -> Result<ImportedHost, ImportError> {
        let vcpus: usize = self
            .draft
            .domains
            .iter()
            .map(|d| usize::from(d.vcpus) + d.threads.len())
            .sum();
        if vcpus > MAX_VCPUS {
            return Err(ImportError::Unusable(format!(
                "the guests have {vcpus} vcpus and threads; a scenario has {MAX_VCPUS} at most"
            )));
        }
        let sentence = |note: &ImportNote| match &note.place {
            Some(place) => format!("{}: {}:{}", note.what, place.file, place.line),
            None => note.what.clone(),
        };
        let draft = &mut self.draft;
        draft.derived = self.host.taken.iter().map(sentence).collect();
        draft.assumed = self.host.assumed.iter().map(sentence).collect();
        draft.left_out = self.host.left_out.iter().map(sentence).collect();
        draft.unknown = self.host.unknown.iter().map(sentence).collect();
        draft.tries = vec![
            "domio explain THIS".to_owned(),
            "domio advise THIS --for GUEST".to_owned(),
        ];
        self.host.text = write::text(draft, &self.options.command);
        match Scenario::parse("the scenario", self.host.text.as_bytes(), policies) {
            Ok(_) => Ok(self.host),
            Err(errors) => Err(ImportError::Scenario(errors)),
        }
    }
}

/// A set of pcpus in a scenario's notation, on a host of `all`.
fn words(set: &[u16], all: u16) -> String {
    if set.len() >= usize::from(all) {
        return "all".to_owned();
    }
    let stretches = set.chunk_by(|before, next| before + 1 == *next);
    let words = stretches.map(|stretch| match stretch {
        [only] => only.to_string(),
        _ => format!("{}-{}", stretch[0], stretch[stretch.len() - 1]),
    });
    words.collect::<Vec<_>>().join(",")
}
