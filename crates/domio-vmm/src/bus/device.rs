//! The contract of a device model.

use super::io::{Io, KernelIo};
use super::lines::Token;
use super::owner::Owner;
use crate::process::{Answer, Call, Interest, Pid};
use domio_contract::control::Traffic;
use domio_contract::control::accounting::Counted;
use domio_core::{DomainId, Duration};

/// What driver code does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "driver code that is not charged for runs in no time"]
pub enum Progress {
    /// A piece of work: so much processor time, on behalf of somebody. Then comes the next call.
    Run(Duration, Owner),
    /// Nothing more to do.
    Done,
}

/// What went through the virtual devices of a domain since its start.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Passed {
    /// Packets that the domain's frontend has taken.
    pub packets_in: u64,
    /// Packets that driver domains took from it.
    pub packets_out: u64,
    /// Bytes of the packets in, as frames.
    pub bytes_in: u64,
    /// Bytes of the packets out, as frames.
    pub bytes_out: u64,
    /// Requests that read.
    pub requests_read: u64,
    /// Requests that write.
    pub requests_written: u64,
}

impl Passed {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Passed) -> Passed {
        Passed {
            packets_in: self.packets_in + other.packets_in,
            packets_out: self.packets_out + other.packets_out,
            bytes_in: self.bytes_in + other.bytes_in,
            bytes_out: self.bytes_out + other.bytes_out,
            requests_read: self.requests_read + other.requests_read,
            requests_written: self.requests_written + other.requests_written,
        }
    }
}

/// A device model: drivers in the guests' kernels, and what is outside of the host.
///
/// A model is called only for what the model has asked for: the other methods may stay as they are
/// here. The order of calls: [`Device::plug`] for each domain that the model
/// [serves](Device::serves), in the order in which domains start; then any of the others, until
/// [`Device::unplug`].
pub trait Device {
    /// Whether there are any devices. A host without devices leaves the code for devices out.
    #[inline(always)]
    fn present() -> bool
    where
        Self: Sized,
    {
        true
    }

    /// Whether `domain` has a driver of this model, so that its kernel needs event channels.
    fn serves(&self, domain: DomainId) -> bool;

    /// Whether `domain` has the device, or a part of it, and works for others.
    fn drives(&self, domain: DomainId) -> bool {
        let _ = domain;
        false
    }

    /// `domain`, which the model serves, is created: the model binds ports. Domains come in the
    /// order in which they start, which decides the numbers of ports (xen-spec 5.1).
    fn plug(&mut self, domain: DomainId, io: &mut Io<'_>);

    /// `domain` is gone. Ports of the domain that are still bound are closed after this call.
    fn unplug(&mut self, domain: DomainId, io: &mut Io<'_>);

    /// A timer made with [`Attach::timer`](crate::bus::Attach::timer) has fired.
    fn event(&mut self, token: Token, io: &mut Io<'_>) {
        let _ = io;
        unasked("timer", token)
    }

    /// The handler of a port, with interrupts off. The first call enters the handler; another call
    /// follows after each piece of its work.
    fn irq(&mut self, token: Token, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let _ = kernel;
        unasked("interrupt", token)
    }

    /// The action of a softirq line made with [`Attach::softirq`](crate::bus::Attach::softirq).
    fn softirq(&mut self, token: Token, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let _ = kernel;
        unasked("softirq", token)
    }

    /// A tasklet made with [`Attach::tasklet`](crate::bus::Attach::tasklet).
    fn tasklet(&mut self, token: Token, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let _ = kernel;
        unasked("tasklet", token)
    }

    /// A work item made with [`Attach::work`](crate::bus::Attach::work), in a thread of the kernel.
    fn work(&mut self, token: Token, kernel: &mut KernelIo<'_, '_>) -> Progress {
        let _ = kernel;
        unasked("work item", token)
    }

    /// A kernel timer made with [`Attach::kernel_timer`](crate::bus::Attach::kernel_timer) has
    /// expired: called from the timer
    /// softirq, which is charged by the kernel.
    fn timer(&mut self, token: Token, kernel: &mut KernelIo<'_, '_>) {
        let _ = kernel;
        unasked("kernel timer", token)
    }

    /// A process executes a system call on one of the model's files. The first call of this method
    /// begins the system call; more calls follow after each piece of work, and when the process was
    /// woken from [`Answer::Block`].
    fn call(&mut self, call: Call, by: Pid, kernel: &mut KernelIo<'_, '_>) -> Answer {
        let _ = (by, kernel);
        unasked("file", call.file.file)
    }

    /// Whether `file` is ready for `interest`. If the file is not ready and `wake` names a process,
    /// the model wakes the process once when that changes. `None` forgets the process that was
    /// named before.
    fn poll(&mut self, file: u32, interest: Interest, wake: Option<Pid>) -> bool {
        let _ = (interest, wake);
        unasked("file", file)
    }

    /// Limits what `domain` sends and receives. A model without traffic ignores the limit.
    fn limit(&mut self, domain: DomainId, traffic: Traffic, io: &mut Io<'_>) {
        let _ = (domain, traffic, io);
    }

    /// Packets that backends in `driver` have taken from `domain` and handed to it, since the
    /// domain's start.
    fn counted(&self, driver: DomainId, domain: DomainId) -> Counted {
        let _ = (driver, domain);
        Counted::default()
    }

    /// What has gone through the virtual devices of `domain` since the domain's start.
    fn passed(&self, domain: DomainId) -> Passed {
        let _ = domain;
        Passed::default()
    }
}

/// A model is called for something that the model never asked for.
#[cold]
fn unasked(what: &str, token: Token) -> ! {
    unreachable!("a device without {what} {token} is called for it")
}

/// No devices: processors and guests that compute.
#[derive(Clone, Copy, Debug)]
pub enum NoDevices {}

impl Device for NoDevices {
    #[inline(always)]
    fn present() -> bool {
        false
    }

    fn serves(&self, _: DomainId) -> bool {
        match *self {}
    }

    fn plug(&mut self, _: DomainId, _: &mut Io<'_>) {
        match *self {}
    }

    fn unplug(&mut self, _: DomainId, _: &mut Io<'_>) {
        match *self {}
    }
}

/// Declares an enum of device models, one variant for each kind of model. The enum is a [`Device`]
/// itself, so that a host with models of several kinds calls them without a table of pointers.
///
/// ```
/// # use domio_vmm::bus::{Device, Io, NoDevices};
/// domio_vmm::device_models! {
///     /// What a host of mine may have.
///     pub enum Model {
///         /// None of it.
///         Nothing(NoDevices),
///     }
/// }
/// ```
#[macro_export]
macro_rules! device_models {
    ($(#[$meta:meta])* $vis:vis enum $name:ident {
        $($(#[$doc:meta])* $variant:ident($model:ty)),+ $(,)?
    }) => {
        $(#[$meta])*
        $vis enum $name {
            $($(#[$doc])* $variant($model)),+
        }

        impl $crate::bus::Device for $name {
            fn serves(&self, domain: $crate::DomainId) -> bool {
                match self { $(Self::$variant(d) => d.serves(domain)),+ }
            }

            fn drives(&self, domain: $crate::DomainId) -> bool {
                match self { $(Self::$variant(d) => d.drives(domain)),+ }
            }

            fn plug(&mut self, domain: $crate::DomainId, io: &mut $crate::bus::Io<'_>) {
                match self { $(Self::$variant(d) => d.plug(domain, io)),+ }
            }

            fn unplug(&mut self, domain: $crate::DomainId, io: &mut $crate::bus::Io<'_>) {
                match self { $(Self::$variant(d) => d.unplug(domain, io)),+ }
            }

            fn event(&mut self, token: $crate::bus::Token, io: &mut $crate::bus::Io<'_>) {
                match self { $(Self::$variant(d) => d.event(token, io)),+ }
            }

            #[inline]
            fn irq(
                &mut self,
                token: $crate::bus::Token,
                kernel: &mut $crate::bus::KernelIo<'_, '_>,
            ) -> $crate::bus::Progress {
                match self { $(Self::$variant(d) => d.irq(token, kernel)),+ }
            }

            #[inline]
            fn softirq(
                &mut self,
                token: $crate::bus::Token,
                kernel: &mut $crate::bus::KernelIo<'_, '_>,
            ) -> $crate::bus::Progress {
                match self { $(Self::$variant(d) => d.softirq(token, kernel)),+ }
            }

            #[inline]
            fn tasklet(
                &mut self,
                token: $crate::bus::Token,
                kernel: &mut $crate::bus::KernelIo<'_, '_>,
            ) -> $crate::bus::Progress {
                match self { $(Self::$variant(d) => d.tasklet(token, kernel)),+ }
            }

            fn work(
                &mut self,
                token: $crate::bus::Token,
                kernel: &mut $crate::bus::KernelIo<'_, '_>,
            ) -> $crate::bus::Progress {
                match self { $(Self::$variant(d) => d.work(token, kernel)),+ }
            }

            fn timer(
                &mut self,
                token: $crate::bus::Token,
                kernel: &mut $crate::bus::KernelIo<'_, '_>,
            ) {
                match self { $(Self::$variant(d) => d.timer(token, kernel)),+ }
            }

            fn call(
                &mut self,
                call: $crate::process::Call,
                by: $crate::process::Pid,
                kernel: &mut $crate::bus::KernelIo<'_, '_>,
            ) -> $crate::process::Answer {
                match self { $(Self::$variant(d) => d.call(call, by, kernel)),+ }
            }

            fn poll(
                &mut self,
                file: u32,
                interest: $crate::process::Interest,
                wake: Option<$crate::process::Pid>,
            ) -> bool {
                match self { $(Self::$variant(d) => d.poll(file, interest, wake)),+ }
            }

            fn limit(
                &mut self,
                domain: $crate::DomainId,
                traffic: $crate::bus::Traffic,
                io: &mut $crate::bus::Io<'_>,
            ) {
                match self { $(Self::$variant(d) => d.limit(domain, traffic, io)),+ }
            }

            fn counted(
                &self,
                driver: $crate::DomainId,
                domain: $crate::DomainId,
            ) -> $crate::bus::Counted {
                match self { $(Self::$variant(d) => d.counted(driver, domain)),+ }
            }

            fn passed(&self, domain: $crate::DomainId) -> $crate::bus::Passed {
                match self { $(Self::$variant(d) => d.passed(domain)),+ }
            }
        }
    };
}
