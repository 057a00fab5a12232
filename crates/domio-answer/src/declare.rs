//! The macro that declares a row.

/// Declares rows of tables as structures: each field is a column, or several, and its comment says
/// what it means, for readers of the code and of the schema.
///
/// ```text
/// rows! {
///     /// Waits of one vcpu.
///     #[derive(Clone, PartialEq, Debug, Default)]
///     pub struct VcpuWaits {
///         /// Which.
///         pub name: VcpuName = key("");
///         /// It ran.
///         pub running: u64 = sum("running_ns", "ns");
///     }
/// }
/// ```
///
/// A field that is no column does not compile.
#[macro_export]
macro_rules! rows {
    ($(
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $(
                $(#[doc = $doc:literal])*
                $field_vis:vis $field:ident: $type:ty = $column:expr;
            )*
        }
    )*) => {$(
        $(#[$meta])*
        $vis struct $name {
            $($(#[doc = $doc])* $field_vis $field: $type,)*
        }

        impl $crate::RowType for $name {
            fn spec() -> &'static [$crate::Column] {
                static SPEC: std::sync::LazyLock<Vec<$crate::Column>> =
                    std::sync::LazyLock::new(|| {
                        #[allow(unused_imports, reason = "rows use few of the kinds")]
                        use $crate::column::*;
                        let mut all = Vec::new();
                        $({
                            let declared: $crate::Column = $column;
                            let declared = declared.doc(concat!($($doc),*).trim());
                            let declared = &mut std::iter::once(declared);
                            all.extend(<$type as $crate::FieldType>::columns(declared));
                        })*
                        all
                    });
                &SPEC
            }
        }

        impl $crate::FieldType for $name {
            fn columns(
                _: &mut dyn Iterator<Item = $crate::Column>,
            ) -> Vec<$crate::Column> {
                <Self as $crate::RowType>::spec().to_vec()
            }

            fn put(&self, cells: &mut Vec<$crate::Cell>) {
                $($crate::FieldType::put(&self.$field, cells);)*
            }

            fn take(
                cells: &mut std::slice::Iter<'_, $crate::Cell>,
                known: $crate::Known<'_>,
            ) -> Option<Self> {
                $(let $field = <$type as $crate::FieldType>::take(cells, known)?;)*
                Some($name { $($field),* })
            }

            fn add(
                &mut self,
                other: &Self,
                columns: &mut std::slice::Iter<'_, $crate::Column>,
            ) {
                $($crate::FieldType::add(&mut self.$field, &other.$field, columns);)*
            }
        }
    )*};
}
