//! Boosts by pcpu, of a real Xen 4.17 and of made-up records.

use std::path::Path;

use domio_core::{Class, Says, Sink};
use domio_meter::{Meter, SummaryJson};
use domio_trace::{ReadOptions, TraceReader};

/// Whoever is boosted before it runs for the first time is nowhere yet.
const VCPUS: u64 = 9;

#[test]
fn boosts_of_a_real_host_are_all_on_its_pcpu() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/xen-traces");
    let policies = domio_sched::policies().iter();
    let classes: Vec<&'static Class> = policies.filter_map(|p| p.descriptor.class).collect();
    let classes: &'static [&'static Class] = classes.leak();
    for (name, boosted) in [("c1-burn7-periodic", true), ("c2-cap30", false)] {
        let options = ReadOptions {
            classes,
            ..ReadOptions::default()
        };
        let path = folder.join(name).join("trace.bin");
        let mut reader = TraceReader::open(&path, &options).unwrap();
        let (mut meter, mut records) = (Meter::new(), 0);
        while let Some(record) = reader.next_record().unwrap() {
            let declared = reader.names().declared(&record);
            records += u64::from(declared.is_some_and(|d| d.says == Says::Boosted));
            meter.record(reader.names(), &record);
        }
        let summary = meter.finish();
        // Few: a boost that no tick ends is there at the next wake-up.
        assert_eq!(records > 20, boosted, "{name}: {records}");
        let [pcpu] = &summary.pcpus[..] else {
            panic!("{name} has one pcpu");
        };
        assert!(records - pcpu.boosts <= VCPUS, "{name}: {pcpu:?}");
        assert_eq!(summary.boost_balance(), boosted.then_some(1.0));
        let json = SummaryJson::new(&summary, 1_000_000_000);
        assert_eq!(json.pcpus[0].boosts, boosted.then_some(pcpu.boosts));
        assert_eq!(json.boost_balance, boosted.then_some(1.0));
    }
}
