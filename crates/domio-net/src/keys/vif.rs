//! `[domain.vif]`, and the notation of its rate.

use crate::host::VifRate;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use domio_core::Duration;
use domio_core::keys::{Form, KeySection, Keys, Need, form, int, name, quote};

/// `[domain.vif]`.
pub static VIF: KeySection = KeySection::plain(
    "[domain.vif]",
    "The virtual interface of a domain. A domain with a network workload has one anyway; with an \
     empty table (`vif = {}`) it has one that nothing goes through. All of its network's work is \
     done by vcpu 0 (its backend's: `netback_threads` of [network]), and costs of its kernel's \
     timer are the hardware profile's, not the guest's. Where there are several networks, `vif` \
     may be a list, with one on each.",
    VifKeys::KEYS,
);

keys! {
    /// What a table `[domain.vif]` says.
    pub struct VifKeys {
        network: String = name(), Need::Optional("the first one"),
            "Name of the network that it is on.";
        pair: u16 = int(0, 1023), Need::Optional("what `netback_assign` of [network] says"),
            "The pair of tasklets of netback that serves it, counted from 0.";
        rate: VifRate = form(&RATE, vif_rate), Need::Optional("no limit"),
            "Limit on what the guest sends, in `xl`'s notation: `\"10Mb/s\"`, or `\"10Mb/s@20ms\"` \
         with the interval in which credit comes, which is 50 ms otherwise. `b` counts bits and \
         `B` bytes.";
        rx_target: u32 = int(64, 256), Need::Optional("what `rx_target` of [network] says"),
            "Receive buffers that its netfront wants posted at first. It is a state of each \
             interface: 128 in one that is new, 64 in one that has taken some 64 packets one at a \
             time since.";
    }
}

static RATE: Form = Form {
    example: "10Mb/s",
    range: "`\"10Mb/s\"` or `\"10Mb/s@20ms\"`",
    expected: "a string as \"10Mb/s\" or \"10Mb/s@20ms\"",
    hint: "a number, `K`, `M` or `G`, `b/s` for bits or `B/s` for bytes; then the interval after \
           `@`, in `us`, `ms` or `s`",
    pattern: r"^[0-9]+[KMG]?[bB]/s(@[0-9]+(us|ms|s))?$",
    check: |text| vif_rate(text).map(|_| ()),
};

/// Interval in which a vif gets its credit when the rate names none (`libxlu_vif.c`).
const VIF_INTERVAL_US: u64 = 50_000;

/// The limit that `text` stands for, in the notation of `rate=` of `xl`: digits, `K`, `M`, `G` or
/// nothing, `b` or `B`, `/s`; then `@` with digits and `us`, `ms` or `s`, if anything.
fn vif_rate(text: &str) -> Result<VifRate, String> {
    let bad = |what: &str, part: &str| format!("`{}` is no {what}", quote(part));
    let (amount, interval) = match text.split_once('@') {
        Some((amount, interval)) => (amount, Some(interval)),
        None => (text, None),
    };
    let bits = amount.strip_suffix("b/s");
    let bytes = amount.strip_suffix("B/s");
    let (digits, factor) = number(bits.or(bytes).ok_or_else(|| bad("rate", amount))?);
    let amount = whole(digits).ok_or_else(|| bad("rate", amount))? * factor;
    let bytes_per_second = if bits.is_some() { amount / 8 } else { amount };
    let us = match interval {
        None => VIF_INTERVAL_US,
        Some(interval) => interval_us(interval).ok_or_else(|| bad("interval", interval))?,
    };
    let bytes = u128::from(bytes_per_second) * u128::from(us) / 1_000_000;
    match u64::try_from(bytes) {
        Ok(0) => Err("less than a byte in each interval".to_owned()),
        Ok(bytes) => Ok(VifRate {
            bytes,
            interval: Duration::from_micros(us),
        }),
        Err(_) => Err(bad("rate", text)),
    }
}

/// `text` without the letter at its end that stands for a factor, and the factor.
fn number(text: &str) -> (&str, u64) {
    let factors = [('K', 1_000), ('M', 1_000_000), ('G', 1_000_000_000)];
    factors
        .iter()
        .find_map(|(letter, factor)| Some((text.strip_suffix(*letter)?, *factor)))
        .unwrap_or((text, 1))
}

/// A whole number over zero that fits into 32 bits, as `xl` takes it.
fn whole(digits: &str) -> Option<u64> {
    let plain = digits.bytes().all(|b| b.is_ascii_digit());
    let number: u32 = digits.parse().ok().filter(|n| plain && *n > 0)?;
    Some(u64::from(number))
}

/// Microseconds of an interval; 32 bits of them at most.
fn interval_us(text: &str) -> Option<u64> {
    let units = [("us", 1), ("ms", 1_000), ("s", 1_000_000)];
    let (digits, factor) = units
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)))?;
    let us = whole(digits)? * factor;
    u32::try_from(us).ok().map(u64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vif_rates_read_as_xl_does() {
        let rate = |text| vif_rate(text).map(|r| (r.bytes, r.interval));
        let ms = Duration::from_millis;
        // Vector 18 of xen-spec 10.
        assert_eq!(rate("10Mb/s"), Ok((62_500, ms(50))));
        assert_eq!(rate("10Mb/s@20ms"), Ok((25_000, ms(20))));
        assert_eq!(rate("1MB/s@1s"), Ok((1_000_000, ms(1_000))));
        assert_eq!(rate("250KB/s@100us"), Ok((25, Duration::from_micros(100))));
        assert_eq!(rate("8000b/s"), Ok((50, ms(50))));
        for bad in [
            "10",
            "10M",
            "Mb/s",
            "10Mb",
            "10mb/s",
            "10Mb/s@",
            "10Mb/s@20",
            "10Mb/s@ms",
            "0Mb/s",
            "10Mb/s@0ms",
            "-1Mb/s",
            "1.5Mb/s",
            "5000000000b/s",
            "10Mb/s@5000s",
            "10Mb/s@1@1",
        ] {
            assert!(vif_rate(bad).is_err(), "{bad}");
        }
        assert!(vif_rate("1Kb/s@10us").unwrap_err().contains("a byte"));
    }
}
