//! Calls of several sizes (`bssplit`): which sizes there are, and how often each is drawn.

use super::units::size;
use domio_sim::RandomStream;

/// Most sizes of a mix. fio takes 64.
const SIZES_MAX: usize = 16;

/// Sizes of calls of one way, with the percentage of the calls that have each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockMix {
    sizes: [u64; SIZES_MAX],
    /// For each size, the percentage of the calls that have it or one before.
    up_to: [u8; SIZES_MAX],
    count: usize,
}

impl BlockMix {
    /// Reads `4k/10:64k/50:1m/40`. Entries without a percentage share what is left evenly, as in
    /// fio; where less than all is given, the rest is of the last size.
    ///
    /// # Errors
    /// What was expected.
    pub(super) fn read(text: &str) -> Result<BlockMix, &'static str> {
        const FORM: &str = "sizes with percentages, as 4k/10:64k/50:1m/40, 100 together at most";
        let mut mix = BlockMix {
            sizes: [0; SIZES_MAX],
            up_to: [0; SIZES_MAX],
            count: 0,
        };
        let mut percents = [None; SIZES_MAX];
        for entry in text.split(':') {
            if mix.count == SIZES_MAX {
                return Err("up to 16 sizes; write a job for the others");
            }
            let (bytes, percent) = entry.split_once('/').unwrap_or((entry, ""));
            let bytes = size(bytes.trim()).filter(|bytes| *bytes > 0).ok_or(FORM)?;
            mix.sizes[mix.count] = bytes;
            percents[mix.count] = match percent.trim() {
                "" => None,
                percent => Some(percent.parse::<u8>().map_err(|_| FORM)?),
            };
            mix.count += 1;
        }
        let percents = &mut percents[..mix.count];
        let given: u32 = percents.iter().flatten().map(|p| u32::from(*p)).sum();
        let missing = percents.iter().filter(|percent| percent.is_none()).count() as u32;
        let left = 100u32.checked_sub(given).ok_or(FORM)?;
        let each = left.checked_div(missing).unwrap_or(0);
        let mut sum = 0;
        for (place, percent) in percents.iter().enumerate() {
            sum += percent.map_or(each, u32::from);
            mix.up_to[place] = sum.min(100) as u8;
        }
        // What rounding or the text leaves.
        mix.up_to[mix.count - 1] = 100;
        Ok(mix)
    }

    /// The sizes.
    fn sizes(&self) -> &[u64] {
        &self.sizes[..self.count]
    }

    /// The one size that all entries have.
    pub(super) fn one(&self) -> Option<u64> {
        let first = self.sizes[0];
        let alike = self.sizes().iter().all(|bytes| *bytes == first);
        alike.then_some(first)
    }

    /// The smallest size, which random places are multiples of, as in fio.
    pub(super) fn smallest(&self) -> u64 {
        self.sizes().iter().copied().min().unwrap_or(1)
    }

    /// The largest size.
    pub(super) fn largest(&self) -> u64 {
        self.sizes().iter().copied().max().unwrap_or(1)
    }

    /// The size of the next call.
    pub(super) fn draw(&self, random: &mut RandomStream) -> u64 {
        let drawn = random.below(100) as u8;
        let place = self.up_to[..self.count]
            .iter()
            .position(|up_to| drawn < *up_to);
        self.sizes[place.unwrap_or(self.count - 1)]
    }
}
