//! Checking as the crates of devices and controllers see it.

use super::cx::Cx;
use super::fields;
use crate::suggest::did_you_mean;
use crate::value::Node;
use domio_core::keys::{Checker, KeySection, KeyTable, Mistake, Span, Words};
use std::any::Any;

impl Checker for Cx<'_> {
    fn table(
        &mut self,
        node: &dyn Any,
        section: &'static KeySection,
        path: &str,
    ) -> Box<dyn KeyTable> {
        let node: &Node = node.downcast_ref().expect("a table of the document");
        let table = node.as_table().expect("a node that is a table");
        Box::new(fields::table(self, table, node.span, section, path, None))
    }

    fn absent(&self, section: &'static KeySection, path: &str, near: Span) -> Box<dyn KeyTable> {
        Box::new(fields::absent(section, path, near))
    }

    fn tell(&mut self, mistake: Mistake) {
        self.push(mistake);
    }

    fn note(&mut self, notice: String) {
        self.notices.push(notice);
    }

    fn line(&self, span: Span) -> usize {
        let source = self.sources.get(span.source as usize);
        source.map_or(1, |source| source.place(span.start as usize).line)
    }

    fn is_partial(&self) -> bool {
        self.partial
    }

    fn parts(&self, words: Words) -> Vec<&'static (dyn Any + Send + Sync)> {
        self.parts.any(words)
    }

    fn did_you_mean(&self, word: &str, known: &[&str]) -> Option<String> {
        did_you_mean(word, known.iter().copied())
    }
}
