//! Grants: how one domain lets another one at a page of its memory.
//!
//! A domain writes into its grant table who may do what with which page, without asking Xen, and
//! hands the **reference** on, through a ring as a rule. The other domain asks Xen, in hypercalls
//! that carry many operations each, to **map** the page, to **unmap** it again, to **copy** from or
//! to it, or to **transfer** ("flip") a page of its own into the place that a reference offers.
//!
//! What costs time is the hypercall and each operation in it (xen-spec 6.1), so operations count
//! themselves in a [`Batch`], and [`GrantCosts`] prices it.
//!
//! Nothing here allocates memory except when domains and pages are added.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use domio_core::{DomainId, Duration};

/// Bytes of a page.
pub const PAGE_BYTES: u32 = 4096;

/// References that a kernel keeps for itself, from 0 (Linux: `NR_RESERVED_ENTRIES`).
const RESERVED: u32 = 8;

/// A page of the machine's memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Frame(pub u32);

/// An entry of a domain's grant table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct GrantRef(pub u32);

/// A mapping, in the table of the domain that mapped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Handle(pub u32);

/// What a grant allows, or a mapping is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Reading.
    ReadOnly,
    /// Reading and writing.
    ReadWrite,
}

/// One end of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyEnd {
    /// A page of the caller's own.
    Own(Frame),
    /// A page that another domain has granted to the caller.
    Granted(DomainId, GrantRef),
}

/// What Xen, or the table's own rules, refuse. Nothing has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GrantError {
    /// No domain of this id was added.
    NoDomain(DomainId),
    /// A domain of this id was added before.
    DomainExists(DomainId),
    /// All references of the domain are in use.
    NoFreeRef(DomainId),
    /// All handles of the domain are in use.
    NoFreeHandle(DomainId),
    /// The reference is free, or for something else (access and transfer are two things).
    BadRef(DomainId, GrantRef),
    /// The reference is for another domain than the one that used it.
    NotForYou(DomainId, GrantRef, DomainId),
    /// Writing to what was granted for reading.
    NotWritable(DomainId, GrantRef),
    /// The page is not the domain's, or no longer.
    NotOwner(DomainId, Frame),
    /// Somebody has the page mapped.
    InUse(Frame),
    /// The handle is of no mapping, or of one that was unmapped before.
    BadHandle(DomainId, Handle),
    /// Nothing has been transferred to the reference so far, or something was before.
    BadTransfer(DomainId, GrantRef),
    /// A copy of this many bytes, which is more than a page.
    TooLong(u32),
}

impl fmt::Display for GrantError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            GrantError::NoDomain(d) => write!(f, "d{}: no such domain; add it first", d.0),
            GrantError::DomainExists(d) => {
                write!(f, "d{}: was added before; use another id", d.0)
            }
            GrantError::NoFreeRef(d) => {
                write!(f, "d{}: all grant references are in use; end some", d.0)
            }
            GrantError::NoFreeHandle(d) => {
                write!(f, "d{}: all mappings are in use; unmap some", d.0)
            }
            GrantError::BadRef(d, r) => {
                write!(f, "d{}: grant {} is not for that; grant it first", d.0, r.0)
            }
            GrantError::NotForYou(d, r, user) => {
                write!(f, "d{}: grant {} is not for d{}", d.0, r.0, user.0)
            }
            GrantError::NotWritable(d, r) => {
                write!(f, "d{}: grant {} is for reading only", d.0, r.0)
            }
            GrantError::NotOwner(d, frame) => {
                write!(f, "d{}: frame {} is not its own", d.0, frame.0)
            }
            GrantError::InUse(frame) => {
                write!(f, "frame {} is mapped; wait until it is unmapped", frame.0)
            }
            GrantError::BadHandle(d, h) => {
                write!(f, "d{}: {} is no mapping; map before you unmap", d.0, h.0)
            }
            GrantError::BadTransfer(d, r) => {
                write!(
                    f,
                    "d{}: grant {} takes one transfer; see whether it came",
                    d.0, r.0
                )
            }
            GrantError::TooLong(bytes) => {
                write!(f, "a copy of {bytes} bytes; a page has {PAGE_BYTES}")
            }
        }
    }
}

impl core::error::Error for GrantError {}

/// The operations of one hypercall, counted. An operation that Xen refuses counts, too: it was
/// looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Batch {
    /// Who makes the hypercall.
    pub caller: DomainId,
    /// Pages mapped.
    pub maps: u32,
    /// Pages unmapped.
    pub unmaps: u32,
    /// Copies.
    pub copies: u32,
    /// Bytes of them.
    pub copied_bytes: u64,
    /// Pages transferred.
    pub transfers: u32,
}

impl Batch {
    /// A hypercall of `caller`, without operations so far.
    pub const fn new(caller: DomainId) -> Batch {
        Batch {
            caller,
            maps: 0,
            unmaps: 0,
            copies: 0,
            copied_bytes: 0,
            transfers: 0,
        }
    }

    /// Number of operations.
    pub const fn operations(&self) -> u32 {
        self.maps + self.unmaps + self.copies + self.transfers
    }
}

/// What grant operations cost the caller, in processor time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GrantCosts {
    /// Each hypercall, into Xen and back.
    pub hypercall: Duration,
    /// Each page mapped.
    pub map: Duration,
    /// Each page unmapped, with its share of flushing the TLB.
    pub unmap: Duration,
    /// Each copy, whatever its length.
    pub copy: Duration,
    /// Each KiB copied, on top; parts of a KiB in proportion.
    pub copy_kib: Duration,
    /// Each page transferred.
    pub transfer: Duration,
}

impl GrantCosts {
    /// No cost anywhere.
    pub const FREE: GrantCosts = GrantCosts {
        hypercall: Duration::ZERO,
        map: Duration::ZERO,
        unmap: Duration::ZERO,
        copy: Duration::ZERO,
        copy_kib: Duration::ZERO,
        transfer: Duration::ZERO,
    };

    /// What a batch costs: one hypercall, and each operation. A batch without operations is not
    /// sent, and costs nothing.
    pub fn of(&self, batch: &Batch) -> Duration {
        if batch.operations() == 0 {
            return Duration::ZERO;
        }
        let copied = u128::from(self.copy_kib.as_nanos()) * u128::from(batch.copied_bytes) / 1024;
        let nanos = u128::from(self.hypercall.as_nanos())
            + u128::from(self.map.as_nanos()) * u128::from(batch.maps)
            + u128::from(self.unmap.as_nanos()) * u128::from(batch.unmaps)
            + u128::from(self.copy.as_nanos()) * u128::from(batch.copies)
            + u128::from(self.transfer.as_nanos()) * u128::from(batch.transfers)
            + copied;
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// An entry of a grant table.
#[derive(Clone, Copy, Debug)]
enum Entry {
    Free,
    /// `to` may use `frame`.
    Access {
        to: DomainId,
        frame: Frame,
        access: Access,
        /// Mappings of it that exist.
        maps: u32,
    },
    /// `from` may transfer a page to the domain, once.
    Transfer {
        from: DomainId,
        came: Option<Frame>,
    },
}

/// A mapping that exists.
#[derive(Clone, Copy, Debug)]
struct Mapping {
    granter: DomainId,
    reference: GrantRef,
    frame: Frame,
}

/// One domain's tables. What was freed last is used first, as Linux does.
#[derive(Clone, Debug)]
struct Table {
    entries: Vec<Entry>,
    free_refs: Vec<GrantRef>,
    mappings: Vec<Option<Mapping>>,
    free_handles: Vec<Handle>,
}

/// Who owns a page, and how many mappings of it other domains have.
#[derive(Clone, Copy, Debug)]
struct Page {
    owner: DomainId,
    maps: u32,
}

/// The grant tables of all domains of a host, and who owns which page.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    tables: Vec<Option<Box<Table>>>,
    pages: Vec<Page>,
}

impl Grants {
    /// No domain and no page.
    pub fn new() -> Grants {
        Grants::default()
    }

    /// Adds a domain with a table of `refs` references, of which the kernel keeps the first 8, and
    /// room for `handles` mappings at a time.
    ///
    /// # Errors
    ///
    /// If the id is in use.
    pub fn add(&mut self, id: DomainId, refs: u32, handles: u32) -> Result<(), GrantError> {
        if self.tables.len() <= id.index() {
            self.tables.resize_with(id.index() + 1, || None);
        }
        let table = &mut self.tables[id.index()];
        if table.is_some() {
            return Err(GrantError::DomainExists(id));
        }
        *table = Some(Box::new(Table {
            entries: (0..refs).map(|_| Entry::Free).collect(),
            free_refs: (RESERVED..refs).rev().map(GrantRef).collect(),
            mappings: (0..handles).map(|_| None).collect(),
            free_handles: (0..handles).rev().map(Handle).collect(),
        }));
        Ok(())
    }

    /// Gives `owner` a page that nobody had.
    ///
    /// # Errors
    ///
    /// If there is no such domain.
    pub fn add_page(&mut self, owner: DomainId) -> Result<Frame, GrantError> {
        self.table(owner)?;
        let frame = Frame(self.pages.len() as u32);
        self.pages.push(Page { owner, maps: 0 });
        Ok(frame)
    }

    /// Whose page `frame` is, if it exists.
    #[inline]
    pub fn owner(&self, frame: Frame) -> Option<DomainId> {
        self.pages.get(frame.0 as usize).map(|page| page.owner)
    }

    #[inline]
    fn table(&mut self, id: DomainId) -> Result<&mut Table, GrantError> {
        let table = self.tables.get_mut(id.index()).and_then(Option::as_mut);
        table.map(|t| &mut **t).ok_or(GrantError::NoDomain(id))
    }

    #[inline]
    fn entry(&mut self, id: DomainId, reference: GrantRef) -> Result<&mut Entry, GrantError> {
        let entry = self.table(id)?.entries.get_mut(reference.0 as usize);
        entry.ok_or(GrantError::BadRef(id, reference))
    }

    #[inline]
    fn check_owner(&self, id: DomainId, frame: Frame) -> Result<(), GrantError> {
        if self.owner(frame) == Some(id) {
            Ok(())
        } else {
            Err(GrantError::NotOwner(id, frame))
        }
    }

    fn allocate(&mut self, id: DomainId, entry: Entry) -> Result<GrantRef, GrantError> {
        let table = self.table(id)?;
        let reference = table.free_refs.pop().ok_or(GrantError::NoFreeRef(id))?;
        table.entries[reference.0 as usize] = entry;
        Ok(reference)
    }

    fn release(&mut self, id: DomainId, reference: GrantRef) -> Result<(), GrantError> {
        *self.entry(id, reference)? = Entry::Free;
        self.table(id)?.free_refs.push(reference);
        Ok(())
    }

    /// `granter` lets `to` at its page `frame`. No hypercall.
    ///
    /// # Errors
    ///
    /// If there is no such domain, no free reference, or the page is not the granter's.
    #[inline]
    pub fn grant(
        &mut self,
        granter: DomainId,
        to: DomainId,
        frame: Frame,
        access: Access,
    ) -> Result<GrantRef, GrantError> {
        self.table(to)?;
        self.check_owner(granter, frame)?;
        let entry = Entry::Access {
            to,
            frame,
            access,
            maps: 0,
        };
        self.allocate(granter, entry)
    }

    /// `granter` takes a grant back. No hypercall.
    ///
    /// # Errors
    ///
    /// If it was no grant for access, or the page is mapped through it: the granter has to wait.
    #[inline]
    pub fn end_grant(&mut self, granter: DomainId, reference: GrantRef) -> Result<(), GrantError> {
        match *self.entry(granter, reference)? {
            Entry::Access { maps: 0, .. } => self.release(granter, reference),
            Entry::Access { frame, .. } => Err(GrantError::InUse(frame)),
            _ => Err(GrantError::BadRef(granter, reference)),
        }
    }

    /// `receiver` offers a place for a page that `from` may transfer. No hypercall.
    ///
    /// # Errors
    ///
    /// If there is no such domain, or no free reference.
    #[inline]
    pub fn accept(&mut self, receiver: DomainId, from: DomainId) -> Result<GrantRef, GrantError> {
        self.table(from)?;
        self.allocate(receiver, Entry::Transfer { from, came: None })
    }

    /// `receiver` takes the page that came. No hypercall.
    ///
    /// # Errors
    ///
    /// If the reference was for no transfer, or nothing has come.
    #[inline]
    pub fn end_accept(
        &mut self,
        receiver: DomainId,
        reference: GrantRef,
    ) -> Result<Frame, GrantError> {
        match *self.entry(receiver, reference)? {
            Entry::Transfer {
                came: Some(frame), ..
            } => {
                self.release(receiver, reference)?;
                Ok(frame)
            }
            Entry::Transfer { came: None, .. } => Err(GrantError::BadTransfer(receiver, reference)),
            _ => Err(GrantError::BadRef(receiver, reference)),
        }
    }

    /// The page of a grant that `user` uses for `access`.
    #[inline]
    fn granted(
        &mut self,
        granter: DomainId,
        reference: GrantRef,
        user: DomainId,
        wanted: Access,
    ) -> Result<Frame, GrantError> {
        let Entry::Access {
            to, frame, access, ..
        } = *self.entry(granter, reference)?
        else {
            return Err(GrantError::BadRef(granter, reference));
        };
        if to != user {
            return Err(GrantError::NotForYou(granter, reference, user));
        }
        if wanted == Access::ReadWrite && access == Access::ReadOnly {
            return Err(GrantError::NotWritable(granter, reference));
        }
        // It may have been transferred after it was granted.
        self.check_owner(granter, frame)?;
        Ok(frame)
    }

    fn count_maps(&mut self, granter: DomainId, reference: GrantRef, frame: Frame, more: i32) {
        if let Ok(Entry::Access { maps, .. }) = self.entry(granter, reference) {
            *maps = maps.wrapping_add_signed(more);
        }
        let maps = &mut self.pages[frame.0 as usize].maps;
        *maps = maps.wrapping_add_signed(more);
    }

    /// The caller maps a page that was granted to it; the handle is for unmapping.
    ///
    /// # Errors
    ///
    /// If the reference is no grant to the caller, or not for that access, if its page is no longer
    /// the granter's, or no handle is free.
    #[inline]
    pub fn map(
        &mut self,
        batch: &mut Batch,
        granter: DomainId,
        reference: GrantRef,
        access: Access,
    ) -> Result<(Handle, Frame), GrantError> {
        batch.maps += 1;
        let user = batch.caller;
        let frame = self.granted(granter, reference, user, access)?;
        let table = self.table(user)?;
        let handle = table
            .free_handles
            .pop()
            .ok_or(GrantError::NoFreeHandle(user))?;
        table.mappings[handle.0 as usize] = Some(Mapping {
            granter,
            reference,
            frame,
        });
        self.count_maps(granter, reference, frame, 1);
        Ok((handle, frame))
    }

    /// The caller unmaps what it mapped.
    ///
    /// # Errors
    ///
    /// If the handle is of no mapping.
    #[inline]
    pub fn unmap(&mut self, batch: &mut Batch, handle: Handle) -> Result<(), GrantError> {
        batch.unmaps += 1;
        let user = batch.caller;
        let table = self.table(user)?;
        let mapping = table.mappings.get_mut(handle.0 as usize);
        let mapping = mapping
            .and_then(Option::take)
            .ok_or(GrantError::BadHandle(user, handle))?;
        table.free_handles.push(handle);
        self.count_maps(mapping.granter, mapping.reference, mapping.frame, -1);
        Ok(())
    }

    /// The caller has Xen copy `bytes` between two pages.
    ///
    /// # Errors
    ///
    /// If an end is neither the caller's page nor granted to it, the target not for writing, or
    /// `bytes` is more than a page.
    #[inline]
    pub fn copy(
        &mut self,
        batch: &mut Batch,
        from: CopyEnd,
        to: CopyEnd,
        bytes: u32,
    ) -> Result<(), GrantError> {
        batch.copies += 1;
        if bytes > PAGE_BYTES {
            return Err(GrantError::TooLong(bytes));
        }
        for (end, access) in [(from, Access::ReadOnly), (to, Access::ReadWrite)] {
            match end {
                CopyEnd::Own(frame) => self.check_owner(batch.caller, frame)?,
                CopyEnd::Granted(granter, reference) => {
                    self.granted(granter, reference, batch.caller, access)?;
                }
            }
        }
        batch.copied_bytes += u64::from(bytes);
        Ok(())
    }

    /// The caller transfers its page `frame` into the place that `receiver` offers.
    ///
    /// # Errors
    ///
    /// If the page is not the caller's, or mapped by somebody; if the reference is no place for a
    /// page of the caller, or a page has come there before.
    #[inline]
    pub fn transfer(
        &mut self,
        batch: &mut Batch,
        frame: Frame,
        receiver: DomainId,
        reference: GrantRef,
    ) -> Result<(), GrantError> {
        batch.transfers += 1;
        let user = batch.caller;
        self.check_owner(user, frame)?;
        if self.pages[frame.0 as usize].maps > 0 {
            return Err(GrantError::InUse(frame));
        }
        match self.entry(receiver, reference)? {
            Entry::Transfer { from, .. } if *from != user => {
                Err(GrantError::NotForYou(receiver, reference, user))
            }
            Entry::Transfer { came: Some(_), .. } => {
                Err(GrantError::BadTransfer(receiver, reference))
            }
            Entry::Transfer { came, .. } => {
                *came = Some(frame);
                self.pages[frame.0 as usize].owner = receiver;
                Ok(())
            }
            _ => Err(GrantError::BadRef(receiver, reference)),
        }
    }
}
