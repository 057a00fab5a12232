//! Policies in Python, for trying out. Each decision calls Python, and what the host is like is
//! copied for it: about a hundred times slower than a policy of domio.

use crate::background::without_gil;
use crate::boundary::Host;
use crate::errors::{self, refused};
use domio_core::{DomainId, Duration, ParamKind, ParamSpec, ParamValues, PcpuId, Topology, VcpuId};
use domio_front::conformance::SuiteOutcome;
use domio_scenario::Parts;
use domio_sched::policies;
use domio_contract::{
    Cx, Descriptor, Needs, Pick, Policy, Prev, Promises, Scheduler, Stop as Why, Wake,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Policies in Python that a process has at most: each needs a function of its own.
const SLOTS: usize = 16;

/// A policy that was registered.
struct Slot {
    class: Py<PyAny>,
    descriptor: &'static Descriptor,
}

static REGISTERED: Mutex<Vec<Slot>> = Mutex::new(Vec::new());

/// How often a policy was registered, so that scenarios know whether they know all.
static REGISTRATIONS: AtomicU64 = AtomicU64::new(0);

/// How often a policy was registered so far.
pub fn registrations() -> u64 {
    REGISTRATIONS.load(Ordering::Relaxed)
}

fn registered() -> MutexGuard<'static, Vec<Slot>> {
    REGISTERED.lock().unwrap_or_else(PoisonError::into_inner)
}

type MakeFn = fn(&ParamValues, &Topology) -> Box<dyn Scheduler>;

/// Makes the policy of slot `N`.
fn make<const N: usize>(params: &ParamValues, topology: &Topology) -> Box<dyn Scheduler> {
    made(N, params, topology)
}

macro_rules! makes {
    ($($n:literal)*) => { [$(make::<$n>),*] };
}

static MAKES: [MakeFn; SLOTS] = makes!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);

fn made(slot: usize, params: &ParamValues, topology: &Topology) -> Box<dyn Scheduler> {
    Python::attach(|py| {
        let (class, descriptor) = {
            let all = registered();
            (all[slot].class.clone_ref(py), all[slot].descriptor)
        };
        let make = || {
            let values = dictionary(py, descriptor.params, params)?;
            class.call1(py, (topology.pcpus(), values))
        };
        let policy = make().unwrap_or_else(|error| raise(error));
        Box::new(InPython {
            policy,
            descriptor,
            known: Vec::new(),
        }) as Box<dyn Scheduler>
    })
}

/// All policies that a scenario can ask for.
pub fn all() -> Vec<Policy> {
    let own = registered();
    let own = own.iter().zip(MAKES);
    let own = own.map(|(slot, make)| Policy::new(slot.descriptor, make));
    policies().iter().copied().chain(own).collect()
}

/// All parts that a scenario can ask for.
pub fn parts() -> Parts {
    Parts::from(&all()[..])
}

/// Whether the policy called `name` is in Python, so that what it gives cannot be kept: nothing
/// tells whether it is still the same.
pub fn is_in_python(name: &str) -> bool {
    registered().iter().any(|slot| slot.descriptor.name == name)
}

/// Ends the run with an exception of Python.
fn raise(error: PyErr) -> ! {
    resume_unwind(Box::new(error))
}

/// What lives as long as the process, as descriptors do.
fn leaked(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

fn dictionary<'py>(
    py: Python<'py>,
    specs: &[ParamSpec],
    values: &ParamValues,
) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    for spec in specs {
        all.set_item(spec.name, values.by_name(spec.name))?;
    }
    Ok(all)
}

/// Parameters of a dictionary of names and defaults.
fn specs(given: &Bound<'_, PyAny>) -> PyResult<&'static [ParamSpec]> {
    let given: Vec<(String, i64)> = given.cast::<PyDict>()?.items().extract()?;
    let spec = |(name, default)| ParamSpec {
        name: leaked(name),
        unit: "",
        kind: ParamKind::Int {
            min: 0,
            max: 1_000_000_000,
            or_zero: false,
        },
        default,
        doc: "A parameter of a policy in Python.",
    };
    let specs: Vec<ParamSpec> = given.into_iter().map(spec).collect();
    Ok(Vec::leak(specs))
}

/// What the class says of its policy.
fn described(class: &Bound<'_, PyAny>) -> PyResult<&'static Descriptor> {
    let text = |name: &str| class.getattr(name)?.extract::<String>();
    let promised: Vec<String> = class.getattr("promises")?.extract()?;
    let mut promises = Promises::NOTHING;
    for promise in promised {
        match promise.as_str() {
            "work_conserving" => promises.work_conserving = true,
            "balances" => promises.balances = true,
            "starvation_free" => promises.starvation_free = true,
            "weights" => promises.weights = true,
            other => {
                return Err(refused(format!(
                    "there is no promise \"{other}\"; expected work_conserving, balances, \
                     starvation_free or weights"
                )));
            }
        }
    }
    Ok(Box::leak(Box::new(Descriptor {
        name: leaked(text("name")?),
        summary: leaked(text("summary")?),
        source: "Python",
        params: specs(&class.getattr("params")?)?,
        domain_params: specs(&class.getattr("domain_params")?)?,
        needs: Needs {
            tickle: true,
            context_saved: true,
            ..Needs::NOTHING
        },
        promises,
        ..Descriptor::PLAIN
    })))
}

/// Makes the policy of a class known to scenarios, by its name. A class with the name of an earlier
/// one takes its place.
#[pyfunction]
pub fn register_policy(class: &Bound<'_, PyAny>) -> PyResult<String> {
    let descriptor = described(class)?;
    let name = descriptor.name;
    if name.is_empty() {
        return Err(refused("the policy has no name; give its class a `name`"));
    }
    if policies()
        .iter()
        .any(|policy| policy.descriptor.name == name)
    {
        return Err(refused(format!(
            "domio has a policy called \"{name}\"; give yours another name"
        )));
    }
    let slot = Slot {
        class: class.clone().unbind(),
        descriptor,
    };
    let mut all = registered();
    match all.iter().position(|other| other.descriptor.name == name) {
        Some(place) => all[place] = slot,
        None if all.len() == SLOTS => {
            return Err(refused(format!(
                "there are {SLOTS} policies in Python already; give yours the name of one of them"
            )));
        }
        None => all.push(slot),
    }
    REGISTRATIONS.fetch_add(1, Ordering::Relaxed);
    Ok(name.to_owned())
}

/// Holds a registered policy to the conformance suite: what `domio policy check --json` prints.
#[pyfunction]
#[pyo3(signature = (name, scripts = 20, orders = true))]
pub fn check_policy(py: Python<'_>, name: &str, scripts: u32, orders: bool) -> PyResult<String> {
    let policy = all().into_iter().find(|p| p.descriptor.name == name);
    let Some(policy) = policy else {
        return Err(refused(format!("no policy is called \"{name}\"")));
    };
    let values = ParamValues::defaults(policy.descriptor.params);
    let promises = &policy.descriptor.promises;
    let outcome = without_gil(py, None, |_| {
        let make = |topology: &Topology| (policy.make)(&values, topology);
        SuiteOutcome::of(&make, promises, scripts, orders)
    })?;
    let answered = outcome.answer(name, &[]);
    serde_json::to_string(&answered).map_err(|error| refused(error.to_string()))
}

/// A policy whose decisions an object of Python makes.
struct InPython {
    policy: Py<PyAny>,
    descriptor: &'static Descriptor,
    /// Vcpus that are there.
    known: Vec<VcpuId>,
}

impl InPython {
    /// Calls `method` of the object with the host and `args`; what it asks for is carried out.
    fn call<T>(
        &mut self,
        cx: &mut Cx<'_>,
        known: &[VcpuId],
        ask: impl FnOnce(&Bound<'_, PyAny>, &Bound<'_, Host>) -> PyResult<T>,
    ) -> T {
        let seen = Host::of(cx, known);
        let result = Python::attach(|py| {
            let host = Bound::new(py, seen)?;
            let answer = ask(self.policy.bind(py), &host)?;
            host.get().carry_out(cx);
            Ok(answer)
        });
        result.unwrap_or_else(|error| raise(error))
    }

    fn tell(&mut self, cx: &mut Cx<'_>, method: &str, vcpu: VcpuId) {
        let known = self.known.clone();
        self.call(cx, &known, |policy, host| {
            policy.call_method1(method, (host, vcpu.0)).map(|_| ())
        });
    }
}

impl Scheduler for InPython {
    fn descriptor(&self) -> &'static Descriptor {
        self.descriptor
    }

    fn pcpu_online(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        let known = self.known.clone();
        self.call(cx, &known, |policy, host| {
            policy
                .call_method1("pcpu_online", (host, pcpu.0))
                .map(|_| ())
        });
    }

    fn pcpu_offline(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        let known = self.known.clone();
        self.call(cx, &known, |policy, host| {
            policy
                .call_method1("pcpu_offline", (host, pcpu.0))
                .map(|_| ())
        });
    }

    fn set_domain(&mut self, cx: &mut Cx<'_>, domain: DomainId, params: &ParamValues) {
        let (known, specs) = (self.known.clone(), self.descriptor.domain_params);
        self.call(cx, &known, |policy, host| {
            let values = dictionary(policy.py(), specs, params)?;
            let args = (host, domain.0, values);
            policy.call_method1("set_domain", args).map(|_| ())
        });
    }

    fn insert(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.known.push(vcpu);
        self.tell(cx, "insert", vcpu);
    }

    fn remove(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.tell(cx, "remove", vcpu);
        self.known.retain(|other| *other != vcpu);
    }

    fn pick_pcpu(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) -> PcpuId {
        let known = self.known.clone();
        let pcpu: u16 = self.call(cx, &known, |policy, host| {
            policy.call_method1("pick_pcpu", (host, vcpu.0))?.extract()
        });
        PcpuId(pcpu)
    }

    fn wake(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId, why: Wake) {
        let why = match why {
            Wake::Event => "event",
            Wake::Unpause => "unpause",
            Wake::Migrate => "migrate",
        };
        let known = self.known.clone();
        self.call(cx, &known, |policy, host| {
            policy.call_method1("wake", (host, vcpu.0, why)).map(|_| ())
        });
    }

    fn sleep(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.tell(cx, "sleep", vcpu);
    }

    fn yielded(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.tell(cx, "yielded", vcpu);
    }

    fn schedule(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        let why = match prev.why {
            Why::Slice => "slice",
            Why::NotRunnable => "not_runnable",
            Why::Yielded => "yielded",
            Why::Tickled => "tickled",
        };
        let known = self.known.clone();
        let (next, slice_ns): (Option<u32>, Option<u64>) = self.call(cx, &known, |policy, host| {
            let vcpu = prev.vcpu.map(|vcpu| vcpu.0);
            let args = (host, pcpu.0, vcpu, prev.ran.as_nanos(), why);
            let answer = policy.call_method1("schedule", args)?;
            if answer.is_none() {
                return Ok((None, None));
            }
            let (next, slice_ns) = answer.extract().map_err(|_| {
                PyTypeError::new_err(
                    "schedule returned neither None nor (vcpu, slice in nanoseconds or None)",
                )
            })?;
            if slice_ns == Some(0) {
                return Err(refused(
                    "schedule returned a slice of 0 ns; it has to be longer",
                ));
            }
            Ok((Some(next), slice_ns))
        });
        match next {
            None => Pick::IDLE,
            Some(next) => Pick {
                next: Some(VcpuId(next)),
                time_slice: slice_ns.map(Duration::from_nanos),
            },
        }
    }

    fn context_saved(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.tell(cx, "context_saved", vcpu);
    }
}

/// Refuses to keep results of a policy in Python.
pub fn refuse_to_keep<'n>(mut names: impl Iterator<Item = &'n str>) -> PyResult<()> {
    match names.find(|name| is_in_python(name)) {
        None => Ok(()),
        Some(name) => Err(errors::refused(format!(
            "results of {name}, a policy in Python, cannot be kept: a change of its code cannot \
             be recognised; leave results out"
        ))),
    }
}
