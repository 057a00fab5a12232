//! All that is known of a claim without simulating anything: `domio claim show`.

use crate::claim::{Claim, ClaimKind};
use crate::folders::PaperFolder;
use crate::recorded::Record;
use crate::statement::{CheckText, short, tell};
use domio_answer::{AnswerSpec, Answered, RowType, rows};

rows! {
    /// A claim, for people who want to know what decides it and where to look.
    #[derive(Clone, PartialEq, Debug)]
    pub struct ClaimPage {
        /// Id of the claim.
        pub id: String = key("id").title("claim");
        /// Title and venue of its paper.
        pub paper: String = fact("paper").for_programs();
        /// Figure, table or section.
        pub place: String = fact("where");
        /// What is run.
        pub experiment: String = fact("experiment").for_programs();
        /// How the claim is decided: value, bound, order or shape.
        pub kind: ClaimKind = fact("kind").for_programs();
        /// What the paper says.
        pub expect: String = fact("expect").title("statement");
        /// How far a value may be off.
        pub tolerance: Option<String> = fact("tolerance").for_programs();
        /// The verdict on record.
        pub recorded: Option<String> = fact("recorded").for_programs();
        /// How the claim is decided, in words.
        pub how: Option<String> = fact("how").for_programs();
        /// What has to hold, all of it.
        pub checks: Vec<CheckText> = parts("checks", []);
        /// All cells that the claim reads.
        pub cells: Vec<String> = fact("cells");
        /// Figures of the report that show the claim.
        pub figures: Vec<String> = fact("figures");
        /// Commands that look at the claim.
        pub commands: Vec<String> = fact("commands");
    }

    /// Claims.
    #[derive(Clone, PartialEq, Debug)]
    struct ClaimPages {
        /// In the order of the claims files.
        claims: Vec<ClaimPage> = parts("claims", []);
    }
}

/// What `domio claim list` answers.
pub fn list_spec() -> AnswerSpec {
    let doc = "What `domio claim list --json` prints.";
    AnswerSpec::new("claim-list", 2, doc, ClaimPages::spec())
}

/// What `domio claim show` answers.
pub fn show_spec() -> AnswerSpec {
    let doc = "What `domio claim show --json` prints: one claim.";
    AnswerSpec::new("claim-show", 2, doc, ClaimPage::spec())
}

/// The answer of these claims.
pub fn list(claims: Vec<ClaimPage>) -> Answered {
    Answered::new(list_spec(), ClaimPages { claims }.cells())
}

impl ClaimPage {
    /// The page of `claim`, which is of one of the papers in `folders`; `record` has their
    /// verdicts.
    pub fn of(claim: &Claim, folders: &[PaperFolder], record: &Record) -> Self {
        let statement = claim.statement.as_deref();
        let paper = of_id(claim.paper(), folders);
        let cells = statement.map_or_else(Vec::new, |statement| statement.cells());
        let cells: Vec<String> = cells.into_iter().map(str::to_owned).collect();
        ClaimPage {
            id: claim.id.clone(),
            paper: paper.map_or_else(|| claim.paper().to_owned(), title),
            place: claim.place.clone(),
            experiment: claim.experiment.clone(),
            kind: claim.kind,
            expect: claim.expect.clone(),
            tolerance: claim.tolerance.clone(),
            recorded: record.get(&claim.id).cloned(),
            how: statement.and_then(|statement| statement.how.clone()),
            checks: tell(claim),
            figures: paper.map_or_else(Vec::new, |paper| figures(paper, claim)),
            commands: match (paper, cells.first()) {
                (Some(paper), Some(cell)) => commands(paper, &claim.id, cell),
                _ => Vec::new(),
            },
            cells,
        }
    }

    /// The answer that is this claim.
    pub fn answer(&self) -> Answered {
        Answered::new(show_spec(), self.cells())
    }

    /// How many comparisons decide the claim.
    pub fn count(&self) -> usize {
        self.checks.iter().map(|check| check.checks).sum()
    }

    /// The cells in short: "test1/{t,tb}".
    pub fn cells_in_short(&self) -> String {
        short(self.cells.iter().map(String::as_str))
    }
}

/// The paper whose claims begin with `id`.
fn of_id<'f>(id: &str, folders: &'f [PaperFolder]) -> Option<&'f PaperFolder> {
    let has_id = |paper: &&PaperFolder| text_of(&described(paper), "id").as_deref() == Some(id);
    folders.iter().find(has_id)
}

fn described(paper: &PaperFolder) -> toml::Table {
    toml_of(paper, "paper.toml")
}

/// A paper's file; empty when the paper has none. Whoever uses the file gives its mistakes.
fn toml_of(paper: &PaperFolder, file: &str) -> toml::Table {
    let text = paper.file(file).unwrap_or_default();
    toml::from_str(text).unwrap_or_default()
}

fn text_of(table: &toml::Table, key: &str) -> Option<String> {
    table.get(key)?.as_str().map(str::to_owned)
}

/// The first word of the ids of a paper's claims; empty when its file names none.
pub fn id(paper: &PaperFolder) -> String {
    text_of(&described(paper), "id").unwrap_or_default()
}

/// Title and venue of a paper.
pub fn title(paper: &PaperFolder) -> String {
    let table = described(paper);
    let text = |key| text_of(&table, key).unwrap_or_default();
    format!("{}, {}", text("title"), text("venue"))
}

/// Number and title of each figure that is drawn of `claim`.
fn figures(paper: &PaperFolder, claim: &Claim) -> Vec<String> {
    let table = toml_of(paper, "figures.toml");
    let figures = table.get("figure").and_then(|list| list.as_array());
    let figures = figures.into_iter().flatten().filter_map(|f| f.as_table());
    let of_claim = |figure: &&toml::Table| {
        let claims = figure.get("claims").and_then(|list| list.as_array());
        let mut prefixes = claims.into_iter().flatten().filter_map(|c| c.as_str());
        prefixes.any(|prefix| claim.has_prefix(prefix))
    };
    let told = |figure: &toml::Table| {
        let number = text_of(figure, "number").or_else(|| text_of(figure, "id"));
        let parts = [number, text_of(figure, "title")];
        parts.into_iter().flatten().collect::<Vec<_>>().join(": ")
    };
    figures.filter(of_claim).map(told).collect()
}

fn commands(paper: &PaperFolder, id: &str, cell: &str) -> Vec<String> {
    let name = cell.replace('/', "-");
    let last = id.rsplit('.').next().unwrap_or(id);
    let scenario = format!("{}/{name}", paper.place);
    let from = paper.argument();
    vec![
        format!("domio reproduce {from}{id} --report out/{last}.html"),
        format!("domio run {scenario} --report out/{name}.html"),
        format!("domio explain {scenario}"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Claims;
    use crate::{folders, recorded};

    fn page(claim: &Claim) -> ClaimPage {
        let folders = folders::shipped();
        ClaimPage::of(claim, &folders, &recorded::of(&folders).unwrap())
    }

    #[test]
    fn every_shipped_claim_has_a_page() {
        for claim in Claims::shipped().iter() {
            let page = page(claim);
            assert!(page.paper.contains(", "), "{}: {}", page.id, page.paper);
            assert_eq!(page.checks.is_empty(), claim.statement.is_none());
            assert_eq!(page.commands.is_empty(), claim.statement.is_none());
            assert_eq!(
                page.recorded.is_some(),
                claim.statement.is_some(),
                "{}",
                page.id
            );
        }
    }

    #[test]
    fn a_page_says_how_to_look() {
        let claims = Claims::shipped();
        let page = page(claims.find("ongaro.test1.fix-helps").unwrap());
        assert!(page.paper.contains("VEE 2008"));
        assert_eq!(page.recorded.as_deref(), Some("holds"));
        assert_eq!(page.cells_in_short(), "test1/{tb,orig}");
        assert_eq!(page.checks.len(), 2);
        assert_eq!(
            page.commands,
            [
                "domio reproduce ongaro.test1.fix-helps --report out/fix-helps.html",
                "domio run papers/ongaro2008/test1-tb --report out/test1-tb.html",
                "domio explain papers/ongaro2008/test1-tb",
            ]
        );
    }
}
