//! Fields of switches and wake-ups in the order in which the kernel prints them, in one go.
//! Whatever looks otherwise is left to the ways that look for each key.

use super::line::{find, number};
use crate::Tid;

/// What is left of the fields.
#[derive(Clone, Copy)]
pub(super) struct Kernel<'a>(pub &'a [u8]);

/// The fields of a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SwitchText<'a> {
    pub prev_comm: &'a [u8],
    pub prev: Tid,
    pub prev_prio: i16,
    pub state: &'a [u8],
    pub next_comm: &'a [u8],
    pub next: Tid,
    pub next_prio: i16,
}

impl<'a> Kernel<'a> {
    /// "prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=b next_pid=8
    /// next_prio=120".
    #[inline]
    pub fn switch(mut self) -> Option<SwitchText<'a>> {
        self.skip(b"prev_comm=")?;
        let prev_comm = self.until(b" prev_pid=")?;
        let prev = self.tid()?;
        self.skip(b" prev_prio=")?;
        let prev_prio = self.prio()?;
        self.skip(b" prev_state=")?;
        let state = self.word();
        self.skip(b" ==> next_comm=")?;
        let next_comm = self.until(b" next_pid=")?;
        let next = self.tid()?;
        self.skip(b" next_prio=")?;
        let next_prio = self.prio()?;
        self.ends()?;
        Some(SwitchText {
            prev_comm,
            prev,
            prev_prio,
            state,
            next_comm,
            next,
            next_prio,
        })
    }

    /// "comm=a pid=7 prio=120 target_cpu=003", with "success=1" in old kernels: name, thread,
    /// priority and cpu.
    #[inline]
    pub fn wake(mut self) -> Option<(&'a [u8], Tid, i16, u32)> {
        self.skip(b"comm=")?;
        let comm = self.until(b" pid=")?.trim_ascii();
        let tid = self.tid()?;
        self.skip(b" prio=")?;
        let prio = self.prio()?;
        if self.skip(b" success=").is_some() {
            self.digits();
        }
        self.skip(b" target_cpu=")?;
        let cpu = u32::try_from(number(self.digits())?).ok()?;
        self.ends()?;
        Some((comm, tid, prio, cpu))
    }

    #[inline]
    fn skip(&mut self, mark: &[u8]) -> Option<()> {
        self.0 = self.0.strip_prefix(mark)?;
        Some(())
    }

    /// What is before the first `mark`, which begins with a space.
    #[inline]
    fn until(&mut self, mark: &[u8]) -> Option<&'a [u8]> {
        let mut from = 0;
        loop {
            let space = find(b' ', self.0, from)?;
            if let Some(rest) = self.0[space..].strip_prefix(mark) {
                let before = &self.0[..space];
                self.0 = rest;
                return Some(before);
            }
            from = space + 1;
        }
    }

    #[inline]
    fn digits(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|b| !b.is_ascii_digit());
        let (digits, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
        self.0 = rest;
        digits
    }

    #[inline]
    fn tid(&mut self) -> Option<Tid> {
        u32::try_from(number(self.digits())?).ok().map(Tid)
    }

    #[inline]
    fn prio(&mut self) -> Option<i16> {
        let is_negative = self.skip(b"-").is_some();
        let prio = i16::try_from(number(self.digits())?).ok()?;
        Some(if is_negative { -prio } else { prio })
    }

    #[inline]
    fn word(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|b| *b == b' ');
        let (word, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
        self.0 = rest;
        word
    }

    /// Nothing is left, or another field is.
    #[inline]
    fn ends(self) -> Option<()> {
        matches!(self.0, [] | [b' ', ..]).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_in_order_are_read() {
        let text =
            b"prev_comm=a b=c prev_pid=7 prev_prio=-1 prev_state=R+ ==> next_comm=CPU 0/KVM \
                     next_pid=8 next_prio=120";
        let switch = Kernel(text).switch().unwrap();
        let expected = SwitchText {
            prev_comm: b"a b=c",
            prev: Tid(7),
            prev_prio: -1,
            state: b"R+",
            next_comm: b"CPU 0/KVM",
            next: Tid(8),
            next_prio: 120,
        };
        assert_eq!(switch, expected);
        let woken = (&b"a pid"[..], Tid(7), 100, 3);
        for text in [
            "target_cpu=003",
            "success=1 target_cpu=003",
            "target_cpu=3 x",
        ] {
            let text = format!("comm=a pid pid=7 prio=100 {text}");
            assert_eq!(Kernel(text.as_bytes()).wake(), Some(woken), "{text}");
        }
    }

    #[test]
    fn fields_of_other_forms_are_left_to_others() {
        for text in [
            "prev_comm=a prev_pid=7 prev_prio=120 prev_state=0 next_comm=b next_pid=8 next_prio=1",
            "prev_comm=a prev_pid=x prev_prio=120 prev_state=S ==> next_comm=b next_pid=8 \
             next_prio=1",
            "a:7 [120] S ==> b:8 [120]",
            "",
        ] {
            assert_eq!(Kernel(text.as_bytes()).switch(), None, "{text}");
        }
        for text in [
            "comm=a pid=0x7 prio=1 target_cpu=1",
            "comm=a pid=7",
            "a:7 [1] CPU:1",
        ] {
            assert_eq!(Kernel(text.as_bytes()).wake(), None, "{text}");
        }
    }
}
