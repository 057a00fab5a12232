//! Files of processes: their directories, and how large they are.

/// Directories of a process, in one file system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Directories {
    /// The root of the file system alone.
    Root,
    /// So many directories in the root, at least 1.
    InRoot(u32),
    /// So many, at least 1, inside one directory of the root.
    Inside(u32),
}

impl Directories {
    /// How many there are.
    pub const fn count(self) -> u32 {
        match self {
            Directories::Root => 1,
            Directories::InRoot(count) | Directories::Inside(count) => count,
        }
    }

    /// Number in the file system of directory `place`, which is taken modulo their count: 0 for the
    /// root, odd numbers for directories in the root, even ones for those inside another one.
    pub const fn number(self, place: u32) -> u32 {
        match self {
            Directories::Root => 0,
            Directories::InRoot(count) => 1 + 2 * (place % count),
            Directories::Inside(count) => 2 + 2 * (place % count),
        }
    }
}

/// Sizes of files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileSizes {
    /// Any from the first to the second (bytes).
    Between(u64, u64),
    /// One of several.
    Weighted(WeightedSizes),
}

impl FileSizes {
    /// The smallest size (bytes).
    pub fn smallest(&self) -> u64 {
        match self {
            FileSizes::Between(low, _) => *low,
            FileSizes::Weighted(mix) => mix.sizes().next().unwrap_or(0),
        }
    }

    /// The size that a random number stands for (bytes).
    pub fn drawn(&self, random: u64) -> u64 {
        match self {
            FileSizes::Between(low, high) => low + random % (high - low + 1),
            FileSizes::Weighted(mix) => mix.drawn(random),
        }
    }
}

/// The smallest size by weight, 4 KiB, as a power of two.
const SMALLEST: u32 = 12;

/// Sizes by weight: 4 KiB to 1 GiB.
const SIZES: usize = 19;

/// Sizes of files, powers of two, each with how often a file has the size, against the others
/// (`size_weight` of FFSB).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WeightedSizes {
    /// Weights from 4 KiB on. Bytes, since calls of processes contain them.
    weights: [u8; SIZES],
}

impl WeightedSizes {
    /// Reads `4K/33:8K/21:1M/2`: sizes in bytes, or with `K`, `M` or `G` for powers of 1024, and
    /// weights.
    ///
    /// # Errors
    /// What was expected.
    pub fn read(text: &str) -> Result<WeightedSizes, &'static str> {
        const FORM: &str =
            "powers of two from 4K to 1G with weights of at most 255, as 4K/33:8K/21:1M/2";
        let mut weights = [0; SIZES];
        for entry in text.split(':') {
            let (size, weight) = entry.split_once('/').ok_or(FORM)?;
            let size = bytes(size.trim()).filter(|size| size.is_power_of_two());
            let place = size.and_then(|size| size.ilog2().checked_sub(SMALLEST));
            let place = weights.get_mut(place.ok_or(FORM)? as usize).ok_or(FORM)?;
            if *place > 0 {
                return Err("each size once");
            }
            *place = weight.trim().parse().map_err(|_| FORM)?;
        }
        match weights.iter().all(|weight| *weight == 0) {
            true => Err("a weight over 0"),
            false => Ok(WeightedSizes { weights }),
        }
    }

    /// The sizes with a weight, the smallest first (bytes).
    pub fn sizes(&self) -> impl Iterator<Item = u64> + '_ {
        let weighted = (0..SIZES).filter(|place| self.weights[*place] > 0);
        weighted.map(|place| 1 << (SMALLEST as usize + place))
    }

    fn drawn(&self, random: u64) -> u64 {
        let sum: u64 = self.weights.iter().map(|weight| u64::from(*weight)).sum();
        let mut left = random % sum;
        for (place, weight) in self.weights.iter().enumerate() {
            match left.checked_sub(u64::from(*weight)) {
                Some(rest) => left = rest,
                None => return 1 << (SMALLEST as usize + place),
            }
        }
        unreachable!("the draw is under the sum of the weights")
    }
}

/// `64K` and the like in bytes.
fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = match text.strip_suffix(['K', 'k']) {
        Some(number) => (number, 1 << 10),
        None => match text.strip_suffix(['M', 'm']) {
            Some(number) => (number, 1 << 20),
            None => match text.strip_suffix(['G', 'g']) {
                Some(number) => (number, 1 << 30),
                None => (text, 1),
            },
        },
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}
