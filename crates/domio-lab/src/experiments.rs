//! The papers' experiments.

use crate::registry::Registry;

/// Every experiment and check that domio has.
pub fn registry() -> Registry {
    Registry::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Claims;

    #[test]
    fn every_check_decides_a_shipped_claim() {
        let registry = registry();
        let strays = registry.strays(&Claims::shipped());
        assert!(strays.is_empty(), "checks without a claim: {strays:?}");
    }
}
