//! A trace that a reviewer can read: three guests of credit 4.17 on one pcpu.
//!
//! `UPDATE=1 cargo test -p domio-vmm golden` writes it anew.

use crate::common::*;
use crate::random::domain_params;
use domio_core::{Instant, ParamValues, XenVersion};
use domio_vmm::config::Workload;
use domio_vmm::{Profile, Simulation};
use std::fmt::Write;
use std::path::Path;

#[test]
fn golden_trace() {
    let domains = vec![
        domain(1, Workload::Burn),
        domain(2, on_off(ms(3), ms(4))),
        domain(3, periodic(ms(8), ms(3), us(300))),
    ];
    let mut host = host(1, XenVersion::V4_17, domains);
    host.profile = Profile {
        wake_to_pass: us(2),
        block_to_pass: us(1),
        timer_to_pass: us(1),
        switch: us(5),
        idle_switch: us(5),
        keep: us(3),
        ..Profile::IDEAL
    };
    for domain in &mut host.domains {
        domain.params = domain_params("credit", 256, 0);
    }
    let policy = domio_sched::find("credit").unwrap();
    let mut params = ParamValues::defaults(policy.descriptor.params);
    params.set("tslice_ms", 5).unwrap();
    let scheduler = (policy.make)(&params, &host.topology);
    let mut simulation = Simulation::new(&host, scheduler, Trace::default(), 1, 0);
    let end = Instant::ZERO + ms(24);
    let outcome = simulation.run(end);
    let mut text = String::from(
        "Credit 4.17 with slices of 5 ms on one pcpu; a wake-up costs 2 us, a block or timer 1 us, \
         a\nswitch 5 us, going on 3 us. d1 burns; d2 works 3 ms and sleeps 4 ms; d3 works 0.3 ms \
         every\n8 ms from 3 ms on. Microseconds, pcpu, what happened.\n\n",
    );
    let trace = simulation.host_mut().sink_mut();
    for record in trace.iter() {
        writeln!(text, "{}", trace.line(record)).unwrap();
    }
    writeln!(text, "\n{outcome:?}").unwrap();
    assert!(
        text.lines().count() <= 100,
        "{} lines",
        text.lines().count()
    );

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/credit.txt");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    for (i, (now, before)) in text.lines().zip(known.lines()).enumerate() {
        assert_eq!(
            now,
            before,
            "line {} of {}; UPDATE=1 rewrites it",
            i + 1,
            path.display()
        );
    }
    assert_eq!(
        text.lines().count(),
        known.lines().count(),
        "{}",
        path.display()
    );
}
