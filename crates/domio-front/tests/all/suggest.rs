//! Names that somebody may have meant.

use domio_front::suggest::near;

#[test]
fn the_nearest_comes_first() {
    let names = ["credit", "credit2", "null", "round-robin"];
    assert_eq!(near("credt", names), "; near matches: credit, credit2");
    assert_eq!(near("NULL", names), "; near matches: null");
    assert_eq!(near("nul", names), "; near matches: null");
    assert_eq!(near("zzz", names), "");
}
