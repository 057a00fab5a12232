//! What checking needs to know, and what it finds out.

use crate::parts::Parts;
use crate::problem::{Problem, Problems};
use crate::source::{Source, Span};
use crate::value::{Node, Value};
use domio_core::keys::KeySection;
use std::sync::Arc;

/// What checking needs to know, and what it finds out.
pub(crate) struct Cx<'a> {
    pub parts: &'a Parts,
    pub sources: &'a [Arc<Source>],
    pub problems: Problems,
    /// Things that the user may want to know but that are no errors.
    pub notices: Vec<String>,
    /// Whether the text has syntax errors: what seems to be missing may be in a part that could
    /// not be read.
    pub partial: bool,
    /// Whether the policy is not the file's own but was asked for by an override.
    pub swapped: bool,
    /// Sections in which a key that stands in the wrong one is looked for.
    pub sections: &'static [&'static KeySection],
    /// What the scenario has besides domains.
    pub known: Known,
    /// Whether the file names no policy that exists and one was presumed: it has an error, and what
    /// is wrong for the presumed policy only is none.
    pub presumed: bool,
}

/// What a scenario has besides domains, as far as keys and names of domains depend on it.
#[derive(Default)]
pub(crate) struct Known {
    /// The controllers, in the order of the text.
    pub controllers: Vec<&'static domio_contract::control::Entry>,
    /// Whether it names a controller that does not exist.
    pub strange_controller: bool,
    /// Names of the networks; a host without any has the default one, which has none.
    pub networks: Vec<Option<String>>,
}

impl<'a> Cx<'a> {
    /// Nothing is known yet.
    pub fn new(
        parts: &'a Parts,
        sources: &'a [Arc<Source>],
        sections: &'static [&'static KeySection],
    ) -> Self {
        Cx {
            parts,
            sources,
            problems: Problems::default(),
            notices: Vec::new(),
            partial: false,
            swapped: false,
            sections,
            known: Known::default(),
            presumed: false,
        }
    }

    pub fn push(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// What to call the network with this number: by its name, if it has one.
    pub fn called_network(&self, index: usize) -> String {
        match self.known.networks.get(index) {
            Some(Some(name)) => format!("the network {name}"),
            _ => format!("network {index}"),
        }
    }

    /// The source text of `span`.
    pub fn text(&self, span: Span) -> &str {
        self.sources
            .get(span.source as usize)
            .map_or("", |s| s.slice(span))
    }

    /// The value of `node` as a string. On the command line strings need no quotes, so `4.17` is
    /// one there if a string is wanted.
    pub fn string(&self, node: &Node) -> Option<String> {
        match &node.value {
            Value::Text(s) => Some(s.clone()),
            Value::Array(_) | Value::Table(_) => None,
            _ => {
                let source = self.sources.get(node.span.source as usize)?;
                source
                    .is_override
                    .then(|| source.slice(node.span).to_owned())
            }
        }
    }
}
