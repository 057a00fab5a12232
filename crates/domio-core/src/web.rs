//! What becomes of a web client's connections and calls.

/// A step of a connection or of a call, for [`Kind::Web`](crate::Kind::Web).
///
/// A connection that has started ends in one of four ways:
///
/// ```text
/// started = closed + timed out + refused + reset + still open
/// ```
///
/// A client that has no file descriptor or no port left starts none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum WebStep {
    /// The client sends its SYN. The value is 0.
    Started = 0,
    /// The connection is open at the client; ns since it started.
    Connected = 1,
    /// The first bytes of an answer have come; ns since the request was sent.
    FirstByte = 2,
    /// An answer is complete; ns since the connection started, or since the request was sent
    /// where it is not the connection's first.
    Replied = 3,
    /// The client has all answers and closes; ns since the connection started.
    Closed = 4,
    /// Nothing has happened for as long as the client waits, which closes; ns since the connection
    /// started.
    TimedOut = 5,
    /// The server's kernel has refused the connection; ns since the connection started.
    Refused = 6,
    /// The connection was reset, or closed before the answer was complete; ns since the connection
    /// started.
    Reset = 7,
    /// The client has as many connections open as it may have, and starts none. The value is 0.
    NoDescriptor = 8,
    /// All ports of the client are in use, and it starts no connection. The value is 0.
    NoPort = 9,
}

impl WebStep {
    /// All steps, by number.
    pub const ALL: [WebStep; 10] = [
        WebStep::Started,
        WebStep::Connected,
        WebStep::FirstByte,
        WebStep::Replied,
        WebStep::Closed,
        WebStep::TimedOut,
        WebStep::Refused,
        WebStep::Reset,
        WebStep::NoDescriptor,
        WebStep::NoPort,
    ];

    /// The step with number `n`, as traces hold it.
    #[inline]
    pub const fn from_number(n: u8) -> Option<Self> {
        if (n as usize) < WebStep::ALL.len() {
            Some(WebStep::ALL[n as usize])
        } else {
            None
        }
    }

    /// Lower-case English name.
    pub const fn name(self) -> &'static str {
        match self {
            WebStep::Started => "started",
            WebStep::Connected => "connected",
            WebStep::FirstByte => "first byte",
            WebStep::Replied => "replied",
            WebStep::Closed => "closed",
            WebStep::TimedOut => "timed out",
            WebStep::Refused => "refused",
            WebStep::Reset => "reset",
            WebStep::NoDescriptor => "no descriptor",
            WebStep::NoPort => "no port",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_listed_by_number() {
        for (i, step) in WebStep::ALL.into_iter().enumerate() {
            assert_eq!(step as usize, i);
            assert_eq!(WebStep::from_number(i as u8), Some(step));
        }
        assert_eq!(WebStep::from_number(WebStep::ALL.len() as u8), None);
    }
}
