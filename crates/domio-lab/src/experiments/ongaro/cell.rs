//! A cell of the paper's experiment: one test under one configuration.

use super::configurations::{CONFIGURATIONS, Configuration};
use super::suite::{FIGURE_4, TESTS, Test};
use std::fmt;
use std::str::FromStr;

/// One test under one configuration, by name "test3/orig".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cell {
    /// What the guests do.
    pub test: &'static Test,
    /// How they are scheduled.
    pub configuration: &'static Configuration,
}

impl Cell {
    /// The 88 of the eight tests, by test and then by configuration, and the two of figure 4.
    pub fn all() -> impl Iterator<Item = Cell> {
        let under = |test| {
            CONFIGURATIONS.iter().map(move |configuration| Cell {
                test,
                configuration,
            })
        };
        let figure_4 = under(&FIGURE_4).filter(|c| ["t", "tb"].contains(&c.configuration.name));
        TESTS.iter().flat_map(under).chain(figure_4)
    }

    /// Name of the experiment that simulates it.
    pub fn experiment(self) -> String {
        experiment(self.test.name, self.configuration.name)
    }
}

/// Name of the experiment that simulates the test called `test` under `configuration`.
pub fn experiment(test: &str, configuration: &str) -> String {
    format!("ongaro.{test}.{configuration}")
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.test.name, self.configuration.name)
    }
}

/// A name that no cell has.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct UnknownCell {
    /// The name.
    pub name: String,
}

impl fmt::Display for UnknownCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tests: Vec<&str> = TESTS.iter().map(|t| t.name).collect();
        let configurations: Vec<&str> = CONFIGURATIONS.iter().map(|c| c.name).collect();
        write!(
            f,
            "no cell is called \"{}\"; expected TEST/CONFIGURATION with a test of {} and a \
             configuration of {}, or fig4/t or fig4/tb",
            self.name,
            tests.join(", "),
            configurations.join(", ")
        )
    }
}

impl FromStr for Cell {
    type Err = UnknownCell;

    fn from_str(name: &str) -> Result<Self, UnknownCell> {
        let found = Cell::all().find(|cell| cell.to_string() == name);
        found.ok_or_else(|| UnknownCell {
            name: name.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_found_by_name() {
        assert_eq!(Cell::all().count(), 90);
        for cell in Cell::all() {
            assert_eq!(cell.to_string().parse(), Ok(cell));
        }
        let cell: Cell = "test3/orig".parse().unwrap();
        assert_eq!(cell.experiment(), "ongaro.test3.orig");
        assert!("fig4/tb".parse::<Cell>().is_ok());
        assert!("fig4/orig".parse::<Cell>().is_err());
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let told = "test9/orig".parse::<Cell>().unwrap_err().to_string();
        for part in [
            "\"test9/orig\"",
            "test1, test2",
            "orig, all-off",
            "sedf-patched",
        ] {
            assert!(told.contains(part), "{told}");
        }
    }
}
