//! Limits of what driver domains do for guests, for ShareGuard: whether they can be kept at all.

use super::asked::Asked;
use super::equip::Device;
use super::resolved::{Domain, Resolved};
use crate::check::Cx;
use domio_control::share_guard::LIMIT;
use domio_core::keys::Span;
use domio_core::keys::{Code, Mistake};

/// Reports limits that are not below what driver domains may have, as the paper wants them (section
/// 5.1), and of those that say nothing.
pub(super) fn limits(
    cx: &mut Cx<'_>,
    i: usize,
    asked: &Asked,
    devices: &[Device],
    resolved: &Resolved,
) {
    let Some(general) = asked.params.by_name(LIMIT) else {
        return;
    };
    let with_cards = network_drivers(devices);
    let drivers: Vec<&Domain> = with_cards.iter().map(|i| &resolved.domains[*i]).collect();
    let name = asked.entry.descriptor.name;
    let [first, others @ ..] = &drivers[..] else {
        let notice = format!("no domain has a network interface, so {name} has nothing to do");
        return cx.notices.push(notice);
    };
    let share: i64 = drivers.iter().map(|d| share(d)).sum();
    let who = match others {
        [] => format!("all that {} may have", first.config.name),
        _ => String::from("all that the driver domains may have together"),
    };
    let mut check = |limit: i64, key: String, span: Span| {
        if limit < share {
            return;
        }
        cx.problems.push(
            Mistake::new(
                Code::OutOfRange,
                span,
                format!("a limit of {limit} % is not below {who}"),
            )
            .key(key)
            .found(limit.to_string())
            .expected(format!("1 to {}, or 0 for no limit", share - 1))
            .hint(
                "lower the limit, or give the driver domain a larger cap or slice, or more vcpus",
            ),
        );
    };
    check(
        general,
        asked.fields.key_path(LIMIT),
        asked
            .fields
            .param(LIMIT)
            .map_or(asked.fields.header, |g| g.span),
    );
    let mut told = None;
    let mut limited = general > 0;
    for (index, domain) in resolved.domains.iter().enumerate() {
        let controlled = domain.controlled.get(i).and_then(Option::as_ref);
        let Some((limit, controlled)) =
            controlled.and_then(|c| Some((c.params.by_name(LIMIT)?, c)))
        else {
            continue;
        };
        limited |= limit > 0;
        // Members of a group have the same limit, but for overrides.
        if limit == 0 || told == Some(domain.span) {
            continue;
        }
        told = Some(domain.span);
        let place = controlled.given.iter().find(|(name, _)| *name == LIMIT);
        let span = place.map_or(domain.span, |(_, span)| *span);
        check(limit, format!("{}.{LIMIT}", controlled.path), span);
        let name = &domain.config.name;
        if with_cards.contains(&index) {
            cx.notices
                .push(format!("{name} has a card: its `{LIMIT}` does nothing"));
        } else if !devices
            .iter()
            .any(|d| d.packets && d.users.contains(&index))
        {
            cx.notices
                .push(format!("{name} has no vif: its `{LIMIT}` does nothing"));
        }
    }
    if !limited {
        cx.notices.push(format!(
            "no guest has a `{LIMIT}`, so {name} has nothing to do"
        ));
    }
}

/// Indices of the domains that have a card, each once.
fn network_drivers(devices: &[Device]) -> Vec<usize> {
    let cards = devices.iter().filter(|d| d.packets);
    let drivers = cards.filter_map(|d| d.drivers.first());
    let mut drivers: Vec<usize> = drivers.map(|(driver, _)| *driver).collect();
    drivers.sort_unstable();
    drivers.dedup();
    drivers
}

/// Percent of one pcpu that `driver` can have at most, by its vcpus, its cap, and its slice where
/// it gets no extra time; 1 at least.
fn share(driver: &Domain) -> i64 {
    let param = |name| driver.config.params.by_name(name);
    let vcpus = driver.config.vcpus.len() as i64;
    let cap = param("cap").filter(|cap| *cap > 0);
    let slice = param("slice_us").zip(param("period_us"));
    let slice = slice.filter(|(slice, _)| *slice > 0 && param("extratime") == Some(0));
    let reserved = slice.map(|(slice, period)| vcpus * 100 * slice / period.max(1));
    let most = [Some(vcpus * 100), cap, reserved];
    most.into_iter().flatten().min().unwrap_or(100).max(1)
}
