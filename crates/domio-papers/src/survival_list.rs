//! What is on record of papers on other machines: `domio claim survival`.

use crate::claim::Claim;
use crate::claim_page;
use crate::claims::Claims;
use crate::folders::PaperFolder;
use crate::paper::{Survival, recorded_survival, sentence, unknowns};
use domio_answer::{AnswerSpec, Answered, RowType, rows};

rows! {
    /// A claim on other machines, as recorded.
    #[derive(Clone, PartialEq, Debug)]
    pub struct SurvivalRow {
        /// Id of the claim.
        pub id: String = key("id").title("claim");
        /// On those machines.
        pub survival: Survival = fact("");
    }

    /// The claims of a paper on other machines, as recorded.
    #[derive(Clone, PartialEq, Debug)]
    pub struct PaperSurvival {
        /// Name of the paper's folder.
        pub name: String = key("name");
        /// First word of the ids of its claims.
        pub paper: String = fact("paper");
        /// Title and venue.
        pub title: String = fact("title");
        /// How many claims the paper has.
        pub of: usize = count("of");
        /// What the paper leaves open: names of unknowns.
        pub unknowns: Vec<String> = fact("unknowns");
        /// Effort with which claims were decided; null without a record.
        pub effort: Option<String> = fact("effort");
        /// Number of machines; 0 without a record.
        pub machines: usize = count("machines");
        /// What is robust, what depends on what, and what holds nowhere; null without a record.
        pub conclusion: Option<String> = fact("conclusion");
        /// In the order of the claims file; of claims that are on record.
        pub claims: Vec<SurvivalRow> = parts("claims", []);
    }

    /// Papers.
    #[derive(Clone, PartialEq, Debug)]
    struct Survivors {
        /// By folder.
        papers: Vec<PaperSurvival> = parts("papers", []);
    }
}

/// What `domio claim survival` answers.
pub fn spec() -> AnswerSpec {
    let doc =
        "What `domio claim survival --json` prints: claims on machines that their papers allow.";
    AnswerSpec::new("claim-survival", 1, doc, Survivors::spec())
}

/// The answer of these papers.
pub fn answer(papers: Vec<PaperSurvival>) -> Answered {
    Answered::new(spec(), Survivors { papers }.cells())
}

/// What is on record of the paper in `folder`, of the claims that begin with one of `prefixes`, or
/// of all without any.
///
/// # Errors
/// Mistakes of its files.
pub fn of_paper(folder: &PaperFolder, prefixes: &[String]) -> Result<PaperSurvival, String> {
    let claims = Claims::of_paper(folder).map_err(|e| e.to_string())?;
    let record = recorded_survival(folder)?;
    let all: Vec<&Claim> = claims.iter().flat_map(Claims::iter).collect();
    let wanted = |claim: &&&Claim| {
        prefixes.is_empty() || prefixes.iter().any(|prefix| claim.has_prefix(prefix))
    };
    let row = |claim: &&Claim| {
        let survival = record.as_ref()?.claims.get(&claim.id)?.clone();
        let id = claim.id.clone();
        Some(SurvivalRow { id, survival })
    };
    let rows: Vec<SurvivalRow> = all.iter().filter(wanted).filter_map(row).collect();
    let pairs = rows.iter().map(|row| (row.id.as_str(), &row.survival));
    Ok(PaperSurvival {
        name: folder.name.clone(),
        paper: claim_page::id(folder),
        title: claim_page::title(folder),
        of: all.len(),
        unknowns: unknowns(folder)?,
        effort: record.as_ref().map(|record| record.effort.clone()),
        machines: record.as_ref().map_or(0, |record| record.machines),
        conclusion: (!rows.is_empty()).then(|| sentence(pairs)),
        claims: rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folders;

    #[test]
    fn a_paper_without_a_record_says_so() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/papers/made-up");
        let folder = PaperFolder::open(path).unwrap();
        let found = of_paper(&folder, &[]).unwrap();
        assert_eq!((found.machines, found.of), (0, 1));
        assert_eq!((found.conclusion, found.effort), (None, None));
        assert_eq!(found.unknowns, ["cache refill"]);
    }

    #[test]
    fn prefixes_choose_claims() {
        for folder in folders::shipped() {
            let all = of_paper(&folder, &[]).unwrap();
            let own = of_paper(&folder, std::slice::from_ref(&all.paper)).unwrap();
            assert_eq!(all, own);
            let none = of_paper(&folder, &["another".to_owned()]).unwrap();
            assert_eq!(none.claims, []);
        }
    }
}
