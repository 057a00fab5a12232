//! Where a packet can be on its way between the line and a guest.

/// A place on the way of a packet, for [`Kind::NetMove`](crate::Kind::NetMove).
///
/// ```text
///  line ─▶ Card ─▶ DriverIn ─▶ RxRing ─▶ GuestIn ─▶ process
///  line ◀───────── DriverOut ◀─ TxRing ◀─ GuestOut ◀─ process
/// ```
///
/// A packet from one guest to another leaves the path of the first after
/// [`DriverOut`](NetPlace::DriverOut) and begins on that of the second at
/// [`DriverIn`](NetPlace::DriverIn).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum NetPlace {
    /// On the line or beyond, or nowhere: not sent yet, delivered, dropped.
    Outside = 0,
    /// In the receive ring of the network card.
    Card = 1,
    /// In the driver domain, which has taken it from the card and brings it to the guest.
    DriverIn = 2,
    /// In the ring to the guest.
    RxRing = 3,
    /// In the guest, which has taken it from the ring and brings it to its protocols.
    GuestIn = 4,
    /// In the guest, waiting for room in the ring, or on its way there.
    GuestOut = 5,
    /// In the ring from the guest.
    TxRing = 6,
    /// In the driver domain, which has taken it from the ring and brings it to the card.
    DriverOut = 7,
}

impl NetPlace {
    /// All places, by number.
    pub const ALL: [NetPlace; 8] = [
        NetPlace::Outside,
        NetPlace::Card,
        NetPlace::DriverIn,
        NetPlace::RxRing,
        NetPlace::GuestIn,
        NetPlace::GuestOut,
        NetPlace::TxRing,
        NetPlace::DriverOut,
    ];

    /// The place with number `n`, as traces hold it.
    #[inline]
    pub const fn from_number(n: u8) -> Option<Self> {
        if (n as usize) < NetPlace::ALL.len() {
            Some(NetPlace::ALL[n as usize])
        } else {
            None
        }
    }

    /// Lower-case English name.
    pub const fn name(self) -> &'static str {
        match self {
            NetPlace::Outside => "outside",
            NetPlace::Card => "card",
            NetPlace::DriverIn => "driver, in",
            NetPlace::RxRing => "rx ring",
            NetPlace::GuestIn => "guest, in",
            NetPlace::GuestOut => "guest, out",
            NetPlace::TxRing => "tx ring",
            NetPlace::DriverOut => "driver, out",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_listed_by_number() {
        for (i, place) in NetPlace::ALL.into_iter().enumerate() {
            assert_eq!(place as usize, i);
            assert_eq!(NetPlace::from_number(i as u8), Some(place));
        }
        assert_eq!(NetPlace::from_number(NetPlace::ALL.len() as u8), None);
    }
}
