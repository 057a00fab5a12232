//! Overrides of the tables of a device that does not ship: each goes by what the device declares.

use domio_core::keys::{
    Checker, KeySection, KeyTable, Keys, Need, Nested, Span, WordOf, int, name, nested_any,
    nested_list,
};
use domio_scenario::{DeviceConfig, DeviceEntry, NoReplay, Parts, Scenario};
use domio_vmm::bus::side::{DeviceHost, DeviceKind, DevicePart, DeviceSide, DeviceTask, Devices};
use std::rc::Rc;

static ENTRY: DeviceEntry = DeviceEntry {
    name: "lamps",
    records: None,
    kind: DeviceKind {
        of_host: OfHost::KEYS,
        of_domain: OfDomain::KEYS,
        workloads: &NO_WORKLOADS,
        open: |cx, document| {
            let slot = OfHost::read(document).lamp;
            let lamps = document.tables(cx, &slot, &LAMP);
            Box::new(Lamps(
                lamps
                    .iter()
                    .filter_map(|table| Keyed::read(table).watts.get())
                    .collect(),
            ))
        },
    },
};

static NO_WORKLOADS: [WordOf<()>; 0] = [];

domio_core::keys! {
    struct OfHost {
        lamp: Nested = nested_any(&LAMP), Need::Optional("none"), "Lamps.";
    }
}

domio_core::keys! {
    struct OfDomain {
        bulb: Nested = nested_list(&BULB), Need::Optional("none"), "Bulbs.";
    }
}

static LAMP: KeySection = KeySection::plain("[lamp]", "A lamp.", Keyed::KEYS);
static BULB: KeySection = KeySection::plain("[[domain.bulb]]", "A bulb.", Keyed::KEYS);

domio_core::keys! {
    struct Keyed {
        name: String = name(), Need::Optional("none"), "Its name.";
        watts: u64 = int(0, 1_000), Need::Int(40), "What it takes.";
    }
}

/// What the lamps of the host take.
struct Lamps(Vec<u64>);

impl DeviceSide<DeviceConfig> for Lamps {
    fn part(
        &self,
        cx: &mut dyn Checker,
        domain: &dyn KeyTable,
        _: &[DeviceTask],
        _: Span,
    ) -> Option<DevicePart> {
        let slot = OfDomain::read(domain).bulb;
        let bulbs = domain.tables(cx, &slot, &BULB);
        let bulbs: Vec<u64> = bulbs
            .iter()
            .filter_map(|table| Keyed::read(table).watts.get())
            .collect();
        Some(DevicePart {
            threads: Vec::new(),
            part: Rc::new(bulbs),
            ports: 0,
            begins: Vec::new(),
        })
    }

    fn devices(&self, _: &mut dyn Checker, host: &DeviceHost<'_>) -> Devices<DeviceConfig> {
        let bulbs: Vec<_> = host.parts::<Vec<u64>>().collect();
        Devices {
            all: Vec::new(),
            unused: vec![format!("lamps {:?}, bulbs {bulbs:?}", self.0)],
        }
    }
}

/// What the tables of `text` are with these overrides.
fn told(text: &str, overrides: &[(&str, &str)]) -> Result<String, String> {
    let mut parts = Parts::from(domio_sched::policies());
    parts.add_device(&ENTRY).expect("no other has the name");
    let head = "run.duration_s = 1\nscheduler.policy = \"credit\"\n";
    let scenario = Scenario::parse("own.toml", (head.to_owned() + text).as_bytes(), &parts);
    let scenario = scenario.and_then(|scenario| scenario.with(overrides));
    let built = scenario.and_then(|scenario| {
        let notices = scenario.notices().to_vec();
        Ok((scenario.build(&NoReplay)?, notices))
    });
    let (built, notices) = built.map_err(|e| e.to_string())?;
    let mut all = notices.into_iter().chain(built.notices);
    let lamps = all.find(|notice| notice.contains("lamps"));
    Ok(lamps.expect("the device says what it read"))
}

const SEVERAL: &str = "[[lamp]]\nname = \"hall\"\n[[lamp]]\n[[domain]]\nname = \"a\"\n\
     [[domain.bulb]]\n[[domain.bulb]]\nname = \"red\"\n";

#[test]
fn a_name_or_an_index_chooses_one_of_several_tables() {
    let all = [
        ("lamp.hall.watts", "60"),
        ("lamp.1.watts", "7"),
        ("domain.a.bulb.0.watts", "3"),
        ("domain.a.bulb.red.watts", "4"),
    ];
    let set = told(SEVERAL, &all).unwrap_or_else(|e| panic!("{e}"));
    assert!(set.contains("lamps [60, 7], bulbs [[3, 4]]"), "{set}");
}

#[test]
fn a_table_alone_has_no_name() {
    let one = "lamp.watts = 5\n[[domain]]\nname = \"a\"\n";
    let set = told(one, &[("lamp.watts", "60")]).unwrap_or_else(|e| panic!("{e}"));
    assert!(set.contains("lamps [60], bulbs [[]]"), "{set}");
}

#[test]
fn a_table_that_is_not_there_is_named_with_those_that_are() {
    let refused = |key: &str| told(SEVERAL, &[(key, "1")]).unwrap_err();
    let hal = refused("lamp.hal.watts");
    assert!(
        hal.contains("there is no lamp `hal`") && hal.contains("hall"),
        "{hal}"
    );
    let blue = refused("domain.a.bulb.blue.watts");
    assert!(blue.contains("there is no bulb `blue`"), "{blue}");
    let which = refused("lamp.watts");
    assert!(which.contains("which one is `watts` of?"), "{which}");
}
