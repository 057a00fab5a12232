//! The macro `keys!`. The compiler warns of a field that nobody reads only where the macro is the
//! crate's own, so that crates of this workspace have this file as a module of theirs,
//! `src/declare.rs` being a link to it. Other crates use `domio_core::keys!`.

/// Declares the keys of a table as a structure: see the page of `domio_core::keys`.
///
/// Each line is `field: Type = kind, need, "meaning";`, and the field becomes a `Slot` of the
/// type. A key whose name is no name in Rust stands before the type: `place: "where" Type`. A line
/// `"name" = kind, need, "meaning";` is the key that selects a variant. It has no field.
#[macro_export]
macro_rules! keys {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($field:tt $(: $($alias:literal)? $type:ty)? = $kind:expr, $need:expr, $doc:expr;)*
    }) => {
        $(#[$meta])*
        $vis struct $name {
            $($(
                #[doc = concat!("The key `", stringify!($field), "`.")]
                $vis $field: ::domio_core::keys::Slot<$type>,
            )?)*
        }

        impl ::domio_core::keys::Keys for $name {
            const KEYS: &'static [::domio_core::keys::Key] = &[$({
                let typed $(: ::domio_core::keys::Typed<$type>)? = $kind;
                let name = $crate::keys!(@name $field $($($alias)?)?);
                ::domio_core::keys::Key::new(name, typed.kind, $need, $doc)
            }),*];

            fn read<G: ::domio_core::keys::Given + ?Sized>(table: &G) -> Self {
                // Where a selector is the only key, there is nothing to read.
                let _ = table;
                $name {
                    $($($field: {
                        let typed: ::domio_core::keys::Typed<$type> = $kind;
                        ::domio_core::keys::Slot::read(
                            table,
                            $crate::keys!(@name $field $($alias)?),
                            &typed,
                        )
                    },)?)*
                }
            }
        }
    };
    (@name $field:ident $name:literal) => { $name };
    (@name $name:literal) => { $name };
    (@name $name:ident) => { stringify!($name) };
}
