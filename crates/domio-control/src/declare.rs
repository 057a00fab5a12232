//! The macro `params!`. The compiler warns of a field that nobody reads only where the macro is the
//! crate's own, so that crates of this workspace have this file as a module of theirs,
//! `src/declare.rs` being a link to it. A crate outside of the project has the macro from here as
//! well (`use domio_core::params;`), without that warning.

/// Declares parameters as a structure: see the page of `domio_core::params`.
///
/// Each line is `name: Type = kind, "meaning";`, and the name is a field of that type. A line
/// `"name" = kind, "meaning";` is a parameter that is declared and has no field, because nothing
/// that it can be makes a difference.
#[macro_export]
macro_rules! params {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($field:tt $(: $type:ty)? = $kind:expr, $doc:expr;)*
    }) => {
        $(#[$meta])*
        $vis struct $name {
            $($(
                #[doc = concat!("The parameter `", stringify!($field), "`.")]
                $vis $field: $type,
            )?)*
        }

        impl ::domio_core::params::Params for $name {
            const SPECS: &'static [::domio_core::ParamSpec] = &[$({
                let typed $(: ::domio_core::params::TypedParam<$type>)? = $kind;
                typed.declare(params!(@name $field), $doc)
            }),*];

            const CHANGEABLE: &'static [::domio_core::ParamSpec] = {
                const FLAGS: &[bool] = &[$({
                    let typed $(: ::domio_core::params::TypedParam<$type>)? = $kind;
                    typed.is_changeable()
                }),*];
                const SPECS: &[::domio_core::ParamSpec] =
                    <$name as ::domio_core::params::Params>::SPECS;
                &::domio_core::params::chosen::<{ ::domio_core::params::count(FLAGS) }>(
                    SPECS, FLAGS,
                )
            };
        }

        impl From<&::domio_core::ParamValues> for $name {
            fn from(values: &::domio_core::ParamValues) -> Self {
                $name {
                    $($($field: {
                        let typed: ::domio_core::params::TypedParam<$type> = $kind;
                        typed.of(values, params!(@name $field))
                    },)?)*
                }
            }
        }
    };
    (@name $name:literal) => { $name };
    (@name $name:ident) => { stringify!($name) };
}
