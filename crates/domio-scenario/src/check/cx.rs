//! What checking needs to know, and what it finds out.

use crate::devices::DeviceConfig;
use crate::parts::Parts;
use crate::problem::Problems;
use crate::source::Source;
use crate::value::{Node, Value};
use domio_core::keys::{KeySection, Mistake, Span};
use domio_vmm::bus::side::DeviceSide;
use std::rc::Rc;
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
    pub sections: &'a [&'static KeySection],
    /// What the scenario has in addition to domains.
    pub known: Known,
    /// Whether the file names no policy that exists and one was presumed: it has an error, and what
    /// is wrong for the presumed policy only is none.
    pub presumed: bool,
    /// What to say of a key that is near to none.
    pub strange_key: &'static str,
}

/// What a scenario has in addition to domains, as far as keys and names of domains depend on it.
pub(crate) struct Known {
    /// The controllers, in the order of the text.
    pub controllers: Vec<&'static domio_contract::control::Entry>,
    /// Whether it names a controller that does not exist.
    pub strange_controller: bool,
    /// How vcpus poll on a host with KVM; `None` on one with Xen.
    pub kvm: Option<domio_vmm::config::HaltPolling>,
    /// The kinds of devices, which have read the tables of the host.
    pub devices: Rc<[Box<dyn DeviceSide<DeviceConfig>>]>,
}

impl<'a> Cx<'a> {
    /// Nothing is known yet.
    pub fn new(
        parts: &'a Parts,
        sources: &'a [Arc<Source>],
        sections: &'a [&'static KeySection],
    ) -> Self {
        Cx {
            parts,
            sources,
            problems: Problems::default(),
            notices: Vec::new(),
            partial: false,
            swapped: false,
            sections,
            known: Known {
                controllers: Vec::new(),
                strange_controller: false,
                kvm: None,
                devices: Rc::new([]),
            },
            presumed: false,
            strange_key: "no table has a key of that name: remove it, or see `domio scenario \
                          schema`, which explains every key",
        }
    }

    pub fn push(&mut self, problem: Mistake) {
        self.problems.push(problem);
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
