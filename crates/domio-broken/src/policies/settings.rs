//! Changes of parameters that are not carried out, or by halves.

use super::Bug;
use super::fifo::{self, Fifo};
use domio_contract::{Conflict, Cx, Descriptor, Pick, Prev};
use domio_core::{Duration, ParamKind, ParamSpec, ParamValues, PcpuId};

const PARAMS: &[ParamSpec] = &[
    int("tslice_ms", 1, 1000, 10),
    int("ratelimit_us", 0, 500_000, 0),
];

/// The FIFO policy with a slice and a rate limit, both of which an operator can change.
const ADJUSTABLE: Descriptor = Descriptor {
    params: PARAMS,
    changeable: PARAMS,
    ..fifo::DESCRIPTOR
};

const fn int(name: &'static str, min: i64, max: i64, default: i64) -> ParamSpec {
    ParamSpec {
        name,
        unit: "",
        kind: ParamKind::Int {
            min,
            max,
            or_zero: false,
        },
        default,
        doc: "For the conformance suite.",
    }
}

/// Writes new values down and continues with the slice that it had.
pub struct IgnoresParameters {
    params: ParamValues,
}

impl Default for IgnoresParameters {
    fn default() -> Self {
        let params = ParamValues::defaults(PARAMS);
        IgnoresParameters { params }
    }
}

impl Bug for IgnoresParameters {
    const CAUGHT_BY: &'static str = "parameters-in-force";
    const DESCRIPTOR: &'static Descriptor = &ADJUSTABLE;

    fn params(&self) -> Option<&ParamValues> {
        Some(&self.params)
    }

    fn set_params(&mut self, params: &ParamValues) -> Result<(), Conflict> {
        self.params = *params;
        Ok(())
    }
}

/// Takes the slice before it looks at the rate limit, and keeps it when that is too long for it.
pub struct AppliesHalf {
    params: ParamValues,
}

impl Default for AppliesHalf {
    fn default() -> Self {
        let params = ParamValues::defaults(PARAMS);
        AppliesHalf { params }
    }
}

impl Bug for AppliesHalf {
    const CAUGHT_BY: &'static str = "parameters-in-force";
    const DESCRIPTOR: &'static Descriptor = &ADJUSTABLE;

    fn schedule(&mut self, fifo: &mut Fifo, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        let slice = self.params.by_name("tslice_ms").expect("it is declared");
        let slice = Duration::from_millis(slice as u64);
        let mut pick = fifo.schedule(cx, pcpu, prev);
        pick.time_slice = pick.time_slice.map(|_| slice);
        pick
    }

    fn params(&self) -> Option<&ParamValues> {
        Some(&self.params)
    }

    fn set_params(&mut self, params: &ParamValues) -> Result<(), Conflict> {
        let of = |name| params.by_name(name).expect("it is declared");
        let slice = of("tslice_ms");
        let written = self.params.set("tslice_ms", slice);
        if written.is_err() || of("ratelimit_us") > slice * 1000 {
            return Err(Conflict::fixed("ratelimit_us"));
        }
        self.params = *params;
        Ok(())
    }
}
