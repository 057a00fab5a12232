//! Words to choose from, and what each stands for.

use super::{Key, KeyParams, KeyVariant};

/// Lists of words.
#[derive(Clone, Copy)]
pub enum Words {
    /// Names of scheduling policies.
    Policies,
    /// Names of machines.
    Profiles,
    /// Releases of Xen.
    Releases,
    /// Names of controllers.
    Controllers,
    /// Names of elevators.
    Elevators,
    /// Words for what a task does.
    Workloads,
    /// These.
    Of(&'static dyn WordList),
}

/// A word with its keys, and what it stands for: a value, or the function that makes one of the
/// keys.
pub struct WordOf<V: 'static> {
    /// The word, what it means and which keys come with it.
    pub variant: KeyVariant,
    /// What it stands for.
    pub is: V,
}

/// A list of words, whatever they stand for.
pub trait WordList: Sync {
    /// The word number `index`, counted from 0.
    fn nth(&self, index: usize) -> Option<&KeyVariant>;
}

/// Several lists as one.
pub struct JoinedWords(pub &'static [&'static dyn WordList]);

/// A list without words.
pub(super) const NO_WORDS: &dyn WordList = &[] as &[WordOf<()>; 0];

impl<V> WordOf<V> {
    /// A word without keys of its own.
    pub const fn new(word: &'static str, is: V, doc: &'static str) -> WordOf<V> {
        WordOf::with_keys(word, is, doc, &[])
    }

    /// A word with keys.
    pub const fn with_keys(
        word: &'static str,
        is: V,
        doc: &'static str,
        keys: &'static [Key],
    ) -> WordOf<V> {
        WordOf {
            variant: KeyVariant::new(word, doc, keys),
            is,
        }
    }

    /// A word with whose keys the declared parameters of somebody stand.
    pub const fn with_params(
        word: &'static str,
        is: V,
        doc: &'static str,
        keys: &'static [Key],
        params: KeyParams,
    ) -> WordOf<V> {
        let variant = KeyVariant {
            params,
            ..KeyVariant::new(word, doc, keys)
        };
        WordOf { variant, is }
    }

    /// What `word` stands for in `list`.
    pub fn find<'l>(list: &'l [WordOf<V>], word: &str) -> Option<&'l V> {
        let mut list = list.iter();
        list.find(|w| w.variant.word == word).map(|w| &w.is)
    }
}

impl<V: Sync, const N: usize> WordList for [WordOf<V>; N] {
    fn nth(&self, index: usize) -> Option<&KeyVariant> {
        self.get(index).map(|word| &word.variant)
    }
}

impl WordList for JoinedWords {
    fn nth(&self, index: usize) -> Option<&KeyVariant> {
        let mut words = self
            .0
            .iter()
            .flat_map(|list| (0..).map_while(|i| list.nth(i)));
        words.nth(index)
    }
}
