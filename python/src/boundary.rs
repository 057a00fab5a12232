//! What a policy in Python sees of its host during a call, and what it asks for.

use domio_core::{CpuSet, PcpuId, VcpuId};
use domio_contract::Cx;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};

/// The host during one call: what it is like, which stands still, and what the policy asks for,
/// which is carried out when the call returns.
#[pyclass(frozen, module = "domio")]
pub struct Host {
    /// Nanoseconds since the host began.
    #[pyo3(get)]
    now_ns: u64,
    /// The pcpu whose code makes the call.
    #[pyo3(get)]
    here: Option<u16>,
    /// Numbers of the pcpus that are online.
    #[pyo3(get)]
    online: Vec<u16>,
    /// By pcpu: the vcpu that is current there; `None` where it idles.
    #[pyo3(get)]
    current: Vec<Option<u32>>,
    vcpus: Vec<Option<Seen>>,
    asked: Mutex<Vec<Asked>>,
}

/// What is seen of a vcpu.
#[derive(Clone, Copy)]
struct Seen {
    domain: u16,
    index: u16,
    pcpu: u16,
    runnable: bool,
    hard: CpuSet,
}

/// A request.
#[derive(Clone, Copy)]
enum Asked {
    Tickle(PcpuId),
    Migrate(VcpuId),
}

/// The numbers of `set`.
fn numbers(set: CpuSet) -> Vec<u16> {
    set.iter().map(|pcpu| pcpu.0).collect()
}

impl Host {
    /// The host as `cx` shows it, with the vcpus `known`.
    pub fn of(cx: &Cx<'_>, known: &[VcpuId]) -> Self {
        let last = known.iter().map(|vcpu| vcpu.index()).max();
        let mut vcpus = vec![None; last.map_or(0, |last| last + 1)];
        for &vcpu in known {
            let view = cx.vcpu(vcpu);
            vcpus[vcpu.index()] = Some(Seen {
                domain: view.name.domain.0,
                index: view.name.index,
                pcpu: view.pcpu.0,
                runnable: view.runnable(),
                hard: cx.hard(vcpu) & cx.online(),
            });
        }
        let pcpus = (0..cx.pcpus() as u16).map(PcpuId);
        Host {
            now_ns: cx.now().as_nanos(),
            here: Some(cx.any_pcpu().0),
            online: numbers(cx.online()),
            current: pcpus.map(|p| cx.current(p).map(|v| v.0)).collect(),
            vcpus,
            asked: Mutex::default(),
        }
    }

    /// Carries out what was asked for.
    pub fn carry_out(&self, cx: &mut Cx<'_>) {
        let asked = std::mem::take(&mut *self.asked.lock().unwrap_or_else(PoisonError::into_inner));
        for asked in asked {
            match asked {
                Asked::Tickle(pcpu) => cx.tickle(pcpu),
                Asked::Migrate(vcpu) => cx.migrate(vcpu),
            }
        }
    }

    fn seen(&self, vcpu: u32) -> PyResult<Seen> {
        let seen = self.vcpus.get(vcpu as usize).copied().flatten();
        seen.ok_or_else(|| PyIndexError::new_err(format!("there is no vcpu {vcpu}")))
    }

    fn ask(&self, asked: Asked) {
        let mut all = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(asked);
    }
}

#[pymethods]
impl Host {
    /// The domain of `vcpu`, by its id.
    fn domain(&self, vcpu: u32) -> PyResult<u16> {
        self.seen(vcpu).map(|seen| seen.domain)
    }

    /// The number of `vcpu` in its domain.
    fn index(&self, vcpu: u32) -> PyResult<u16> {
        self.seen(vcpu).map(|seen| seen.index)
    }

    /// The pcpu that `vcpu` belongs to.
    fn pcpu(&self, vcpu: u32) -> PyResult<u16> {
        self.seen(vcpu).map(|seen| seen.pcpu)
    }

    /// Whether `vcpu` wants to execute; it may be executing already.
    fn runnable(&self, vcpu: u32) -> PyResult<bool> {
        self.seen(vcpu).map(|seen| seen.runnable)
    }

    /// The pcpus that `vcpu` may run on, of those that are online.
    fn allowed(&self, vcpu: u32) -> PyResult<Vec<u16>> {
        self.seen(vcpu).map(|seen| numbers(seen.hard))
    }

    /// Whether `vcpu` is current on a pcpu.
    fn is_current(&self, vcpu: u32) -> bool {
        self.current.contains(&Some(vcpu))
    }

    /// Asks for a pass on `pcpu`.
    fn tickle(&self, pcpu: u16) -> PyResult<()> {
        if usize::from(pcpu) >= self.current.len() {
            return Err(PyIndexError::new_err(format!("there is no pcpu {pcpu}")));
        }
        self.ask(Asked::Tickle(PcpuId(pcpu)));
        Ok(())
    }

    /// Asks that `vcpu`, which is current, gets another pcpu by `pick_pcpu` when it is switched
    /// out.
    fn migrate(&self, vcpu: u32) -> PyResult<()> {
        self.seen(vcpu)?;
        self.ask(Asked::Migrate(VcpuId(vcpu)));
        Ok(())
    }
}
