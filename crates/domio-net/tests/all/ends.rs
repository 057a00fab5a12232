//! Traffic that ends at a time.

use crate::site::*;

/// Streams, datagrams and pings from 5 to 200 ms: each has carried something, and nothing is
/// under way any more 50 ms later.
#[test]
fn nothing_begins_after_the_end() {
    let flows = [IN, OUT, udp_in(2_000), udp_out(2_000), ping(5)];
    let mut card = card(0, vec![vif(1, &flows)]);
    for flow in &mut card.vifs[0].flows {
        flow.stop = Some(ms(200));
    }
    let simulation = after(400, 2, vec![domain(0, 1), domain(1, 1)], &[card]);
    let records = simulation.into_sink();
    for flow in 0..flows.len() as u32 {
        let own = records.iter();
        let own = own.filter(|r| r.is_progress() && r.words[0] == flow);
        let times: Vec<_> = own.map(|r| r.at).collect();
        let (first, last) = (times[0], times[times.len() - 1]);
        assert!(first < at(30), "flow {flow} begins at {first}");
        assert!(
            last > at(180) && last < at(250),
            "flow {flow} ends at {last}"
        );
    }
}
