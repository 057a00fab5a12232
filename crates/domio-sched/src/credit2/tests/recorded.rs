//! A recording of Xen 4.17.7 on one pcpu: each pass there is made again at its time, and must debit
//! the same credit, take the same vcpu and give the same slice.
//!
//! `testdata/xen-passes/README.md` tells what is in the file.

use super::*;

const PASSES: &str = include_str!("../../../../../testdata/xen-passes/c2-weights-1-2-4.csv");

/// Domain-0 and three guests of weights 256, 512 and 1024.
const WEIGHTS: [i64; 4] = [256, 256, 512, 1024];

/// A vcpu of each domain as the recording shows them after its first reset, `next` current.
fn begin(next: usize, credits: &[i64]) -> Rig {
    let mut rig = Rig::new(1);
    for (domain, credit) in credits.iter().enumerate() {
        let vcpu = rig.guest(WEIGHTS[domain]);
        rig.set_credit(vcpu, *credit);
    }
    rig.wake(VcpuId(next as u32));
    rig.pass(P0);
    for other in (1..credits.len()).filter(|d| *d != next) {
        rig.wake(VcpuId(other as u32));
    }
    rig
}

#[test]
fn every_recorded_pass_is_made_again() {
    let mut lines = PASSES.lines().skip(1);
    let first: Vec<&str> = lines.next().expect("a line").split(',').collect();
    let credits: Vec<i64> = first[3].split(' ').map(|c| c.parse().unwrap()).collect();
    let mut rig = begin(first[2].parse().unwrap(), &credits);
    let mut passes = 0;
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |i: usize| cells[i].parse::<i64>().expect("a number");
        rig.now = Instant::from_nanos(number(1) as u64);
        let vcpu = VcpuId(number(2) as u32);
        match cells[0] {
            "wakes" => {
                rig.tickled();
                rig.wake(vcpu);
                assert_eq!(rig.tickled().len() as i64, number(3), "{line}");
            }
            "blocks" => rig.block(vcpu),
            "pass" => {
                assert_eq!(rig.current(P0), Some(vcpu), "{line}");
                rig.notes.clear();
                let pick = rig.pass(P0);
                let burned = rig.notes_of(3)[0][1] as i32;
                assert_eq!(i64::from(burned), number(3), "{line}");
                assert_eq!(pick.next, Some(VcpuId(number(4) as u32)), "{line}");
                let slice = pick.time_slice.expect("a slice").as_nanos();
                assert_eq!(slice as i64, number(5), "{line}");
                passes += 1;
            }
            what => panic!("{what} is no event of the file"),
        }
    }
    assert_eq!(passes, 11_129);
}
