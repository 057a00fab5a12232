//! The schemas of what `--json` prints, by name. A new output is an answer, and gets one line of
//! [`ANSWERS`].

use crate::cmd::controller::ControllerRow;
use crate::cmd::elevator::ElevatorRow;
use crate::cmd::policy::PolicyRow;
use crate::cmd::{self, results, scenario, sweep};
use crate::shared::block::{self, ComparedTraces, Replayed, SummedUp};
use crate::shared::{import, registered};
use domio_advise::calibrate::Calibration;
use domio_advise::dom0_share::answers;
use domio_advise::{advice, alert};
use domio_answer::AnswerSpec;
use domio_front::comparison::ComparedVariants;
use domio_front::conformance::suite_answer;
use domio_front::scenarios::ScenarioText;
use domio_front::validated;
use domio_meter::block::BlockWaits;
use domio_meter::{CheckReport, Explanation, Summary};
use domio_papers::{answer, claim_page, survival_list};
use domio_report::run_answer::RunFacts;
use domio_run::measure::Measures;

/// What commands answer, whatever figures hosts have.
const ANSWERS: &[fn() -> AnswerSpec] = &[
    answer::spec,
    claim_page::list_spec,
    claim_page::show_spec,
    survival_list::spec,
    results::list_spec,
    results::show_spec,
    results::diff_spec,
    results::merge_spec,
    results::prune_spec,
    || ComparedVariants::default().answer().spec,
    sweep::spec,
    || {
        Explanation::default()
            .answer(|_| None, |_| None, None, false)
            .spec
    },
    || Calibration::default().answer().spec,
    advice::answers::spec,
    alert::spec,
    answers::spec,
    domio_monitor::lines::spec,
    || Summary::default().answer(|_| None, 0, false).spec,
    || CheckReport::default().answer(false, 0).spec,
    || SummedUp::default().answer().spec,
    || Replayed::default().answer().spec,
    || ComparedTraces::default().answer().spec,
    || block::explained(&BlockWaits::default()).spec,
    || validated::answer(&[]).spec,
    registered::list_spec::<PolicyRow>,
    registered::show_spec::<PolicyRow>,
    || suite_answer().spec,
    registered::list_spec::<ControllerRow>,
    registered::show_spec::<ControllerRow>,
    registered::list_spec::<ElevatorRow>,
    registered::show_spec::<ElevatorRow>,
    scenario::check_spec,
    scenario::list_spec,
    import::spec,
    || ScenarioText::default().answer().spec,
    cmd::schema::spec,
];

/// Every schema, by name. That of `run` has a value for each figure of `measures`.
pub fn all(measures: &Measures) -> Vec<AnswerSpec> {
    let mut all: Vec<AnswerSpec> = ANSWERS.iter().map(|spec| spec()).collect();
    all.push(RunFacts::default().answer(measures, &[], &[], &[]).spec);
    all.sort_by_key(|spec| spec.name);
    all
}

/// The schema called `name`, or by its id.
pub fn find(measures: &Measures, name: &str) -> Option<AnswerSpec> {
    let name = name.trim().replace(' ', "-");
    let mut all = all(measures).into_iter();
    all.find(|spec| spec.name == name || spec.id() == name)
}
