//! The test vector of xen-spec section 10 that concerns BVT: 9.

use super::*;

#[test]
fn vector_9_equal_hogs_alternate_in_quanta_of_5_ms() {
    for version in ["2.0", "3.0"] {
        let mut rig = Rig::new(version, 1);
        let [a, b] = [rig.hog(10), rig.hog(10)];
        rig.run_to(at_ms(100));
        let turns = rig.turns();
        assert_eq!(turns.len(), 19, "{version}");
        for (i, (who, long)) in turns.into_iter().enumerate() {
            // The last one that woke is at the head.
            assert_eq!(who, Some(if i % 2 == 0 { b } else { a }), "{version}");
            assert_eq!(long, 5_000, "{version}");
        }
        let charges = rig.notes_of(1);
        for (i, words) in charges.iter().enumerate() {
            // 50 charging units of 100 us at 10 each. The quantum is 5 ms and the quotient of an
            // advantage of 500 by 10, in ns: 51 units, after the first quantum.
            let expected = 500 * (i as u32 / 2 + 1);
            let over = words[1] - expected;
            assert!(
                over.is_multiple_of(10) && over <= 10 * (i as u32 + 1),
                "{words:?}"
            );
        }
    }
}

#[test]
fn vector_9_weights_are_inverse_to_the_advance() {
    for version in ["2.0", "3.0"] {
        let mut rig = Rig::new(version, 1);
        let [light, heavy] = [rig.hog(20), rig.hog(10)];
        rig.run_to(at_ms(3_000));
        let [light, heavy] = [light, heavy].map(|v| rig.ran(v).as_nanos() as i64);
        // To within a quantum each.
        assert!((heavy - 2 * light).abs() < 15_000_000, "{heavy} {light}");
        assert_eq!(heavy + light, 3_000_000_000);
    }
}
