//! How a scenario asks for it: `[tape]`, `[domain.reel]`, the workload `listen`.

use super::TapeConfig;
use domio_core::Duration;
use domio_core::keys::{
    Checker, Code, KeySection, KeyTable, Keys, Mistake, Need, Nested, Span, WordOf, bytes,
    domain_name, nested, time,
};
use domio_scenario::DeviceConfig;
use domio_vmm::bus::side::{
    DeviceHost, DeviceKind, DevicePart, DeviceProcess, DeviceSide, DeviceTask, DeviceUsers,
    DeviceWork, Devices, Equipped, Placing,
};
use domio_vmm::config::{TaskConfig, Workload};
use domio_vmm::process::FileId;
use domio_vmm::process::programs::{CopyDirection, FileCopy};
use std::rc::Rc;

/// Tapes, among the devices that scenarios can ask for.
pub const fn tapes() -> DeviceKind<DeviceConfig> {
    DeviceKind {
        of_host: OfHost::KEYS,
        of_domain: OfDomain::KEYS,
        workloads: &WORKLOADS,
        open: |cx, document| {
            let slot = OfHost::read(document).tape;
            let table = document.tables(cx, &slot, &TAPE).pop();
            let near = document.header();
            Box::new(Side(
                table.unwrap_or_else(|| cx.absent(&TAPE, slot.name, near)),
            ))
        },
    }
}

domio_core::keys! {
    struct OfHost {
        tape: Nested = nested(&TAPE), Need::Optional("5 us"), "What winds.";
    }
}

domio_core::keys! {
    struct OfDomain {
        reel: Nested = nested(&REEL), Need::Optional("none"), "Its tape.";
    }
}

static TAPE: KeySection = KeySection::plain("[tape]", "What winds the tapes.", TapeKeys::KEYS);

domio_core::keys! {
    struct TapeKeys {
        wind: Duration = time("us", 0), Need::TimeNs(5_000), "What each call takes.";
        drive: String = domain_name(), Need::Optional("the domain with id 0"),
            "Its driver domain.";
    }
}

static REEL: KeySection = KeySection::plain("[domain.reel]", "A tape.", ReelKeys::KEYS);

domio_core::keys! {
    struct ReelKeys {
        length: u64 = bytes(1, 1 << 20), Need::Word("64K"), "How long it is.";
    }
}

static WORKLOADS: [WordOf<()>; 1] = [WordOf::with_keys(
    "listen",
    (),
    "Reads the tape.",
    Listen::KEYS,
)];

domio_core::keys! {
    struct Listen {
        piece: u64 = bytes(1, 1 << 20), Need::Word("16K"), "Bytes of a call.";
    }
}

/// What `[tape]` says.
struct Side(Box<dyn KeyTable>);

impl DeviceSide<DeviceConfig> for Side {
    fn work(
        &self,
        _: &mut dyn Checker,
        table: &dyn KeyTable,
        _: Option<Placing<'_>>,
    ) -> Option<DeviceWork> {
        let work = Rc::new(Listen::read(table).piece.get()?);
        Some(DeviceWork { work, tasks: None })
    }

    fn part(
        &self,
        cx: &mut dyn Checker,
        domain: &dyn KeyTable,
        tasks: &[DeviceTask],
        asks: Span,
    ) -> Option<DevicePart> {
        let slot = OfDomain::read(domain).reel;
        let reel = domain.tables(cx, &slot, &REEL).pop();
        let length = match reel {
            Some(reel) => Some(ReelKeys::read(&reel).length.get()?),
            None if tasks.is_empty() => None,
            None => {
                cx.tell(
                    Mistake::new(Code::MissingKey, asks, "the domain has no tape")
                        .key(domain.path_of(&slot))
                        .expected("`reel` in the domain"),
                );
                return None;
            }
        };
        Some(DevicePart {
            threads: Vec::new(),
            part: Rc::new((length, tasks.to_vec())),
            ports: 0,
            begins: Vec::new(),
        })
    }

    fn devices(&self, cx: &mut dyn Checker, host: &DeviceHost<'_>) -> Devices<DeviceConfig> {
        let keys = TapeKeys::read(&self.0);
        let all = host.parts::<(Option<u64>, Vec<DeviceTask>)>().enumerate();
        let own: Vec<_> = all
            .filter_map(|(i, (length, tasks))| Some((i, (*length)?, tasks.clone())))
            .collect();
        let users = DeviceUsers {
            what: "tape",
            key: self.0.path_of(&keys.drive),
            says: "`drive` of [tape]",
            elsewhere: "tapes in other domains",
            chosen: self.0.place("drive").map(|place| place.value),
            all: own
                .iter()
                .map(|(i, ..)| (*i, host.domains.all[*i].span))
                .collect(),
        };
        let named = self.0.named(&keys.drive);
        let driver = named.and_then(|named| host.domains.driver(cx, named.as_ref(), &users));
        let (Some(driver), Some(wind)) = (driver.filter(|_| !own.is_empty()), keys.wind.get())
        else {
            return Devices {
                all: Vec::new(),
                unused: Vec::new(),
            };
        };
        host.domains.serves(cx, driver, &users);
        let id = |i: usize| host.domains.all[i].config.id;
        let config = TapeConfig {
            driver: id(driver),
            wind,
            tapes: own.iter().map(|(i, length, _)| (id(*i), *length)).collect(),
        };
        let device = Equipped {
            config: DeviceConfig::own(config),
            drivers: vec![(driver, 0)],
            users: own.iter().map(|(i, ..)| *i).collect(),
            evtchn: Vec::new(),
            packets: false,
            free: None,
            processes: Box::new(move |device| {
                let reels = (0..).zip(&own);
                reels
                    .flat_map(|(file, own)| listeners(FileId { device, file }, own))
                    .collect()
            }),
        };
        Devices {
            all: vec![device],
            unused: Vec::new(),
        }
    }
}

/// The processes of a domain that read its tape.
fn listeners(
    file: FileId,
    (domain, length, tasks): &(usize, u64, Vec<DeviceTask>),
) -> Vec<DeviceProcess> {
    let process = |task: &DeviceTask| {
        let program = FileCopy::new(file, CopyDirection::Read, *task.work::<u64>(), *length);
        DeviceProcess {
            domain: *domain,
            vcpu: task.vcpu,
            may_roam: !task.placed,
            task: TaskConfig {
                name: task.name.clone(),
                priority: task.priority,
                roams: false,
                workload: Workload::program(program),
            },
            input: None,
        }
    };
    tasks.iter().map(process).collect()
}
