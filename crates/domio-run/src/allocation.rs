//! What a domain is allocated, read off what its policy was told.

use domio_core::DomainId;
use domio_scenario::Built;

/// What domain `id` of `built` is allocated (% of one pcpu): by its cap, by a
/// slice or a budget without extra time, or else by its share of all weights. `None` when it has
/// none of these.
pub fn allocated(built: &Built, id: DomainId) -> Option<f64> {
    let domains = &built.host.domains;
    let domain = domains.iter().find(|d| d.id == id)?;
    let param = |name| domain.params.by_name(name).map(|value| value as f64);
    if let Some(cap) = param("cap").filter(|cap| *cap > 0.0) {
        return Some(cap);
    }
    if param("extratime") == Some(0.0) {
        let held = param("slice_us").or_else(|| param("budget_us"))?;
        let each = held / param("period_us")? * 100.0;
        return Some(each * domain.vcpus.len() as f64);
    }
    let weight = param("weight")?;
    let all = domains.iter().filter_map(|d| d.params.by_name("weight"));
    let all: f64 = all.map(|weight| weight as f64).sum();
    let host = built.host.topology.pcpus() as f64 * 100.0;
    (all > 0.0 && weight > 0.0).then(|| weight / all * host)
}
