//! Grants: who may use which page how, and what it costs.

use domio_core::{DomainId, Duration};
use domio_vmm::grant::{
    Access, Batch, CopyEnd, Frame, GrantCosts, GrantError, GrantRef, Grants, Handle, PAGE_BYTES,
};
use proptest::prelude::*;

const DOM0: DomainId = DomainId::DOM0;
const A: DomainId = DomainId(1);
const B: DomainId = DomainId(2);

/// Three domains, and a page of each.
fn host() -> (Grants, [Frame; 3]) {
    let mut grants = Grants::new();
    for id in [DOM0, A, B] {
        grants.add(id, 12, 3).unwrap();
    }
    let pages = [DOM0, A, B].map(|id| grants.add_page(id).unwrap());
    (grants, pages)
}

#[test]
fn a_grant_is_for_one_domain_one_page_and_one_access() {
    let (mut grants, [_, page, _]) = host();
    let read = grants.grant(A, DOM0, page, Access::ReadOnly).unwrap();
    assert_eq!(read, GrantRef(8), "the kernel keeps the first 8");
    let mut batch = Batch::new(DOM0);
    let mut by_b = Batch::new(B);
    let wrong = grants.map(&mut by_b, A, read, Access::ReadOnly);
    assert_eq!(wrong, Err(GrantError::NotForYou(A, read, B)));
    let wrong = grants.map(&mut batch, A, read, Access::ReadWrite);
    assert_eq!(wrong, Err(GrantError::NotWritable(A, read)));
    let wrong = grants.map(&mut batch, A, GrantRef(9), Access::ReadOnly);
    assert_eq!(wrong, Err(GrantError::BadRef(A, GrantRef(9))));
    let wrong = grants.map(&mut batch, A, GrantRef(99), Access::ReadOnly);
    assert_eq!(wrong, Err(GrantError::BadRef(A, GrantRef(99))));
    let (handle, frame) = grants.map(&mut batch, A, read, Access::ReadOnly).unwrap();
    assert_eq!(frame, page);
    assert_eq!(grants.end_grant(A, read), Err(GrantError::InUse(page)));
    grants.unmap(&mut batch, handle).unwrap();
    let twice = grants.unmap(&mut batch, handle);
    assert_eq!(twice, Err(GrantError::BadHandle(DOM0, handle)));
    grants.end_grant(A, read).unwrap();
    assert_eq!(grants.end_grant(A, read), Err(GrantError::BadRef(A, read)));
    assert_eq!((batch.maps, batch.unmaps, by_b.maps), (4, 2, 1));
}

#[test]
fn only_own_pages_are_granted_and_tables_are_finite() {
    let (mut grants, [own, page, _]) = host();
    let wrong = grants.grant(A, DOM0, own, Access::ReadOnly);
    assert_eq!(wrong, Err(GrantError::NotOwner(A, own)));
    let wrong = grants.grant(A, DomainId(9), page, Access::ReadOnly);
    assert_eq!(wrong, Err(GrantError::NoDomain(DomainId(9))));
    let refs: Vec<_> = (0..4)
        .map(|_| grants.grant(A, DOM0, page, Access::ReadOnly).unwrap())
        .collect();
    let wrong = grants.grant(A, DOM0, page, Access::ReadOnly);
    assert_eq!(wrong, Err(GrantError::NoFreeRef(A)));
    let mut batch = Batch::new(DOM0);
    let mut map = |reference| grants.map(&mut batch, A, reference, Access::ReadOnly);
    for &reference in &refs[..3] {
        map(reference).unwrap();
    }
    assert_eq!(map(refs[3]), Err(GrantError::NoFreeHandle(DOM0)));
    assert_eq!(grants.add(A, 1, 1), Err(GrantError::DomainExists(A)));
}

#[test]
fn copies_read_from_what_is_granted_and_write_only_where_they_may() {
    let (mut grants, [own, page, other]) = host();
    let read = grants.grant(A, DOM0, page, Access::ReadOnly).unwrap();
    let write = grants.grant(A, DOM0, page, Access::ReadWrite).unwrap();
    let mut batch = Batch::new(DOM0);
    let (own, read, write) = (
        CopyEnd::Own(own),
        CopyEnd::Granted(A, read),
        CopyEnd::Granted(A, write),
    );
    grants.copy(&mut batch, read, own, 64).unwrap();
    grants.copy(&mut batch, own, write, PAGE_BYTES).unwrap();
    let wrong = grants.copy(&mut batch, own, read, 64);
    assert_eq!(wrong, Err(GrantError::NotWritable(A, GrantRef(8))));
    let wrong = grants.copy(&mut batch, CopyEnd::Own(other), write, 64);
    assert_eq!(wrong, Err(GrantError::NotOwner(DOM0, other)));
    let wrong = grants.copy(&mut batch, own, write, PAGE_BYTES + 1);
    assert_eq!(wrong, Err(GrantError::TooLong(4097)));
    assert_eq!((batch.copies, batch.copied_bytes), (5, 64 + 4096));
}

#[test]
fn a_page_is_flipped_once_into_the_place_that_waits_for_it() {
    let (mut grants, [page, _, _]) = host();
    let place = grants.accept(A, DOM0).unwrap();
    assert_eq!(
        grants.end_accept(A, place),
        Err(GrantError::BadTransfer(A, place))
    );
    let mut batch = Batch::new(DOM0);
    let mut by_b = Batch::new(B);
    let wrong = grants.transfer(&mut by_b, page, A, place);
    assert_eq!(wrong, Err(GrantError::NotOwner(B, page)));
    let own_b = grants.add_page(B).unwrap();
    let wrong = grants.transfer(&mut by_b, own_b, A, place);
    assert_eq!(wrong, Err(GrantError::NotForYou(A, place, B)));
    // Mapped by somebody: it has to stay.
    let lent = grants.grant(DOM0, B, page, Access::ReadOnly).unwrap();
    let (handle, _) = grants.map(&mut by_b, DOM0, lent, Access::ReadOnly).unwrap();
    let wrong = grants.transfer(&mut batch, page, A, place);
    assert_eq!(wrong, Err(GrantError::InUse(page)));
    grants.unmap(&mut by_b, handle).unwrap();
    grants.transfer(&mut batch, page, A, place).unwrap();
    assert_eq!(grants.owner(page), Some(A));
    let second = grants.add_page(DOM0).unwrap();
    let wrong = grants.transfer(&mut batch, second, A, place);
    assert_eq!(wrong, Err(GrantError::BadTransfer(A, place)));
    // The grant that DOM0 gave before is of no use now.
    let wrong = grants.map(&mut by_b, DOM0, lent, Access::ReadOnly);
    assert_eq!(wrong, Err(GrantError::NotOwner(DOM0, page)));
    assert_eq!(grants.end_accept(A, place), Ok(page));
    assert_eq!(
        grants.end_accept(A, place),
        Err(GrantError::BadRef(A, place))
    );
    assert_eq!(batch.transfers, 3);
    assert_eq!(by_b.operations(), 2 + 2 + 1);
}

#[test]
fn a_batch_costs_one_hypercall_and_each_of_its_operations() {
    let ns = Duration::from_nanos;
    let costs = GrantCosts {
        hypercall: ns(300),
        map: ns(700),
        unmap: ns(500),
        copy: ns(400),
        copy_kib: ns(512),
        transfer: ns(3000),
    };
    let none = Batch::new(DOM0);
    assert_eq!(
        costs.of(&none),
        Duration::ZERO,
        "an empty batch is not sent"
    );
    let maps = Batch { maps: 11, ..none };
    assert_eq!(costs.of(&maps), ns(300 + 11 * 700));
    let copies = Batch {
        copies: 2,
        copied_bytes: 1536,
        ..none
    };
    assert_eq!(costs.of(&copies), ns(300 + 2 * 400 + 768));
    let mixed = Batch {
        unmaps: 2,
        transfers: 3,
        ..none
    };
    assert_eq!(costs.of(&mixed), ns(300 + 2 * 500 + 3 * 3000));
    assert_eq!(GrantCosts::FREE.of(&mixed), Duration::ZERO);
}

#[test]
fn errors_say_what_to_do() {
    let text = GrantError::InUse(Frame(7)).to_string();
    assert_eq!(text, "frame 7 is mapped; wait until it is unmapped");
    let text = GrantError::NotWritable(A, GrantRef(9)).to_string();
    assert_eq!(text, "d1: grant 9 is for reading only");
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Grant(usize, bool),
    End(usize),
    Map(usize, bool),
    Unmap(usize),
    /// From the page of a grant, or to it.
    Copy(usize, bool),
    Flip(usize),
}

proptest! {
    /// Against lists of what was granted and mapped.
    #[test]
    fn tables_agree_with_plain_lists(ops in prop::collection::vec(prop_oneof![
        (0..3usize, any::<bool>()).prop_map(|(p, w)| Op::Grant(p, w)),
        (0..8usize).prop_map(Op::End),
        (0..8usize, any::<bool>()).prop_map(|(g, w)| Op::Map(g, w)),
        (0..8usize).prop_map(Op::Unmap),
        (0..8usize, any::<bool>()).prop_map(|(g, w)| Op::Copy(g, w)),
        (0..3usize).prop_map(Op::Flip),
    ], 0..80)) {
        let access = |write| if write { Access::ReadWrite } else { Access::ReadOnly };
        let (mut grants, [own, ..]) = host();
        let pages: Vec<Frame> = (0..3).map(|_| grants.add_page(A).unwrap()).collect();
        let mut owned = [true; 3];
        let mut granted: Vec<(GrantRef, usize, bool)> = Vec::new();
        let mut mapped: Vec<(Handle, GrantRef, usize)> = Vec::new();
        let mut batch = Batch::new(DOM0);
        let mut counted = batch;
        for op in ops {
            match op {
                Op::Grant(p, write) => {
                    let result = grants.grant(A, DOM0, pages[p], access(write));
                    prop_assert_eq!(result.is_ok(), owned[p] && granted.len() < 4);
                    if let Ok(reference) = result {
                        prop_assert!(granted.iter().all(|g| g.0 != reference));
                        granted.push((reference, p, write));
                    }
                }
                Op::End(g) if g < granted.len() => {
                    let reference = granted[g].0;
                    let in_use = mapped.iter().any(|m| m.1 == reference);
                    prop_assert_eq!(grants.end_grant(A, reference).is_err(), in_use);
                    if !in_use {
                        granted.remove(g);
                    }
                }
                Op::Map(g, write) if g < granted.len() => {
                    let (reference, p, writable) = granted[g];
                    let result = grants.map(&mut batch, A, reference, access(write));
                    counted.maps += 1;
                    let may = owned[p] && (writable || !write) && mapped.len() < 3;
                    prop_assert_eq!(result.is_ok(), may);
                    if let Ok((handle, frame)) = result {
                        prop_assert_eq!(frame, pages[p]);
                        prop_assert!(mapped.iter().all(|m| m.0 != handle));
                        mapped.push((handle, reference, p));
                    }
                }
                Op::Unmap(m) if m < mapped.len() => {
                    let (handle, _, _) = mapped.swap_remove(m);
                    grants.unmap(&mut batch, handle).unwrap();
                    counted.unmaps += 1;
                }
                Op::Copy(g, write) if g < granted.len() => {
                    let (reference, p, writable) = granted[g];
                    let theirs = CopyEnd::Granted(A, reference);
                    let (from, to) = match write {
                        true => (CopyEnd::Own(own), theirs),
                        false => (theirs, CopyEnd::Own(own)),
                    };
                    let result = grants.copy(&mut batch, from, to, 100);
                    prop_assert_eq!(result.is_ok(), owned[p] && (writable || !write));
                    counted.copies += 1;
                    counted.copied_bytes += if result.is_ok() { 100 } else { 0 };
                }
                Op::Flip(p) => {
                    let place = grants.accept(B, A).unwrap();
                    let mut by_a = Batch::new(A);
                    let result = grants.transfer(&mut by_a, pages[p], B, place);
                    let free = mapped.iter().all(|m| m.2 != p);
                    prop_assert_eq!(result.is_ok(), owned[p] && free);
                    if result.is_ok() {
                        owned[p] = false;
                        prop_assert_eq!(grants.end_accept(B, place), Ok(pages[p]));
                    } else {
                        // The place is left open; B has four, so give it a page of its own.
                        let filler = grants.add_page(A).unwrap();
                        grants.transfer(&mut by_a, filler, B, place).unwrap();
                        grants.end_accept(B, place).unwrap();
                    }
                }
                Op::End(_) | Op::Map(..) | Op::Unmap(_) | Op::Copy(..) => {}
            }
            let owner = |p: usize| if owned[p] { A } else { B };
            prop_assert!((0..3).all(|p| grants.owner(pages[p]) == Some(owner(p))));
            prop_assert_eq!(batch, counted);
        }
    }
}
