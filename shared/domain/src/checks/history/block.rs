//! Packed status checks: consecutive checks that differ in little but their times, in a few bytes each.
//!
//! A block begins with its version and the slot of its first check. Each check then has the index of its *shape* (its
//! result without times), its slot as a delta of deltas, its completion as the delta to its slot, both in milliseconds,
//! and its response time in hundredths of a millisecond. From version 2, flags beside the index say whether the check
//! failed and which phases follow, each in milliseconds. The numbers are variable-length, with seven bits in each byte,
//! lowest first; signed ones are zigzag-encoded. A shape is written where it is first used, and a text where it is first
//! named.
//!
//! Time-series databases store their samples in the same way; see Pelkonen et al., "Gorilla: A Fast, Scalable,
//! In-Memory Time Series Database", VLDB 2015, §4.1.

use jiff::Timestamp;

use crate::checks::check::HeartbeatResult;
use crate::checks::check::{Check, Finish, Phases, StatusResult, ToolResult};
use crate::checks::tool::Tool;
use crate::id::{CheckId, Partition};

/// A version of the format. Every version that this code knows can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BlockVersion {
    /// Without phases, and without whether a check failed.
    One,
    /// With them.
    Two,
}

impl BlockVersion {
    /// The first byte of a block.
    const fn as_byte(self) -> u8 {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }

    fn parse(byte: u8) -> Option<Self> {
        [Self::One, Self::Two].into_iter().find(|version| version.as_byte() == byte)
    }
}

/// The most shapes in a block. A site with more different answers would save little.
pub const SHAPES_MAX: usize = 8;
/// The most redirects in a shape. The engine follows fewer.
const REDIRECTS_MAX: usize = 32;

const UP: u64 = 1;
const REDIRECTED: u64 = 1 << 1;
const HAS_ERROR: u64 = 1 << 2;

/// The bits of a shape's index. The flags of a check are above them, so that both take one byte.
const INDEX_BITS: u32 = SHAPES_MAX.ilog2();
const HAS_LOOKUP: u64 = 1;
const HAS_CONNECT: u64 = 1 << 1;
const HAS_TLS: u64 = 1 << 2;
const HAS_FAILED: u64 = 1 << 3;

/// A scheduled status check that completed.
#[derive(Debug, Clone, PartialEq)]
pub struct PackedCheck {
    /// The slot, in whole milliseconds.
    pub slot: Timestamp,
    /// When the check completed, in whole milliseconds.
    pub completed_at: Timestamp,
    /// Whether it failed, by the settings of that time; `None` in version 1.
    pub has_failed: Option<bool>,
    /// What it found. Whether expectations were judged is not kept, and the phases are not in version 1.
    pub result: StatusResult,
}

impl PackedCheck {
    pub(crate) fn into_check(self, id: CheckId) -> Check {
        let Self { completed_at, has_failed, result, .. } = self;
        let finish = Finish::Completed(match id.tool() {
            Tool::Heartbeat => ToolResult::Heartbeat(Box::new(HeartbeatResult::unpacked(&result))),
            _ => ToolResult::Status(result),
        });
        Check { has_failed, ..Check::finished(id, finish, completed_at) }
    }
}

/// Checks of one tool on one day, in the order of their slots; never empty.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    version: BlockVersion,
    bytes: Vec<u8>,
    texts: Vec<String>,
    /// Results without times.
    shapes: Vec<StatusResult>,
    records: Vec<Record>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Record {
    slot: Timestamp,
    completed_at: Timestamp,
    shape: usize,
    hundredths: u32,
    has_failed: Option<bool>,
    phases: Option<Phases>,
}

/// Why a check is not added to a block, which stays unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The slot is not after the block's last one.
    #[error("the slot is not after the last one")]
    Order,
    /// The block has [`SHAPES_MAX`] other shapes.
    #[error("the block has as many shapes as it may have")]
    Shapes,
    /// There are more than [`REDIRECTS_MAX`] redirects.
    #[error("too many redirects")]
    Redirects,
    /// The response time is not a whole number of hundredths, below twelve hours.
    #[error("the response time is not in hundredths of a millisecond")]
    ResponseTime,
}

/// Why bytes are not a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// A version that this code does not know.
    #[error("unknown version {0}")]
    Version(u8),
    /// The bytes end within a value.
    #[error("cut off")]
    CutOff,
    /// A value that no block contains.
    #[error("malformed")]
    Malformed,
}

impl Block {
    /// A block with its first check.
    ///
    /// # Errors
    ///
    /// Why the check cannot be packed.
    pub fn begin(version: BlockVersion, check: &PackedCheck) -> Result<Self, Refused> {
        let mut bytes = vec![version.as_byte()];
        put_signed(&mut bytes, check.slot.as_millisecond());
        let (texts, shapes, records) = (Vec::new(), Vec::new(), Vec::new());
        let mut block = Self { version, bytes, texts, shapes, records };
        block.push(check)?;
        Ok(block)
    }

    /// The version of its format.
    pub const fn version(&self) -> BlockVersion {
        self.version
    }

    /// Parses a block.
    ///
    /// # Errors
    ///
    /// What is wrong with the bytes.
    pub fn read(bytes: &[u8]) -> Result<Self, Unreadable> {
        let (&version, rest) = bytes.split_first().ok_or(Unreadable::CutOff)?;
        let version = BlockVersion::parse(version).ok_or(Unreadable::Version(version))?;
        let mut reader = Reader(rest);
        let first = reader.signed()?;
        let (mut texts, mut shapes, mut records) = (Vec::new(), Vec::new(), Vec::new());
        let (mut last, mut step) = (first, 0_i64);
        while records.is_empty() || !reader.is_at_end() {
            let (shape, flags) = reader.head(version, shapes.len())?;
            if shape == shapes.len() {
                shapes.push(reader.shape(&mut texts)?);
            }
            step = step.checked_add(reader.signed()?).ok_or(Unreadable::Malformed)?;
            if records.is_empty() != (step == 0) || step < 0 {
                return Err(Unreadable::Malformed);
            }
            last = last.checked_add(step).ok_or(Unreadable::Malformed)?;
            let completed = last.checked_add(reader.signed()?).ok_or(Unreadable::Malformed)?;
            let hundredths =
                u32::try_from(reader.unsigned()?).map_err(|_| Unreadable::Malformed)?;
            let phases = reader.phases(flags)?;
            let (slot, completed_at) = (instant(last)?, instant(completed)?);
            let has_failed = (version >= BlockVersion::Two).then_some(flags & HAS_FAILED != 0);
            records.push(Record { slot, completed_at, shape, hundredths, has_failed, phases });
        }
        Ok(Self { version, bytes: bytes.to_vec(), texts, shapes, records })
    }

    /// Adds a check.
    ///
    /// # Errors
    ///
    /// Why it is not added.
    pub fn push(&mut self, check: &PackedCheck) -> Result<(), Refused> {
        let PackedCheck { slot, completed_at, has_failed, result } = check;
        let (at, completed) = (slot.as_millisecond(), completed_at.as_millisecond());
        let step = self.records.last().map_or(0, |last| at - last.slot.as_millisecond());
        if !self.records.is_empty() && step <= 0 {
            return Err(Refused::Order);
        }
        let hundredths = hundredths(result.response_time).ok_or(Refused::ResponseTime)?;
        let has_phases = self.version >= BlockVersion::Two;
        let phases = result.phases.filter(|_| has_phases);
        let has_failed = has_phases.then_some(*has_failed == Some(true));
        let shape =
            StatusResult { response_time: 0.0, phases: None, judged: None, ..result.clone() };
        let known = self.shapes.iter().position(|known| *known == shape);
        let index = known.unwrap_or(self.shapes.len());
        // Both together take one byte.
        put_unsigned(&mut self.bytes, index as u64 | flags(phases, has_failed) << INDEX_BITS);
        if known.is_none()
            && let Err(refused) = self.add_shape(shape)
        {
            self.bytes.pop();
            return Err(refused);
        }
        let change = step - self.last_step();
        put_signed(&mut self.bytes, change);
        put_signed(&mut self.bytes, completed - at);
        put_unsigned(&mut self.bytes, u64::from(hundredths));
        for phase in phases.into_iter().flat_map(Phases::in_order).flatten() {
            put_unsigned(&mut self.bytes, u64::from(phase));
        }
        let (slot, completed_at) = (*slot, *completed_at);
        let record = Record { slot, completed_at, shape: index, hundredths, has_failed, phases };
        self.records.push(record);
        Ok(())
    }

    /// Adds a shape, or changes nothing.
    fn add_shape(&mut self, shape: StatusResult) -> Result<(), Refused> {
        if self.shapes.len() == SHAPES_MAX {
            return Err(Refused::Shapes);
        }
        if shape.redirects.len() > REDIRECTS_MAX {
            return Err(Refused::Redirects);
        }
        let flags =
            [(shape.up, UP), (shape.redirected, REDIRECTED), (shape.error.is_some(), HAS_ERROR)];
        let flags = flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).sum();
        put_unsigned(&mut self.bytes, flags);
        put_unsigned(&mut self.bytes, u64::from(shape.code));
        put_unsigned(&mut self.bytes, u64::from(shape.redirect_count));
        put_index(&mut self.bytes, shape.redirects.len());
        let texts = [&shape.url, &shape.effective_url].into_iter();
        for text in texts.chain(&shape.redirects).chain(&shape.error) {
            let known = self.texts.iter().position(|known| known == text);
            put_index(&mut self.bytes, known.unwrap_or(self.texts.len()));
            if known.is_none() {
                put_index(&mut self.bytes, text.len());
                self.bytes.extend_from_slice(text.as_bytes());
                self.texts.push(text.clone());
            }
        }
        self.shapes.push(shape);
        Ok(())
    }

    /// The time between the last two slots, in milliseconds; 0 before there are two.
    fn last_step(&self) -> i64 {
        match self.records.as_slice() {
            [.., before, last] => last.slot.as_millisecond() - before.slot.as_millisecond(),
            _ => 0,
        }
    }

    /// The stored bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The stored bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The slot of the first check, which identifies the block.
    pub fn first_slot(&self) -> Timestamp {
        self.records.first().map_or(Timestamp::UNIX_EPOCH, |record| record.slot)
    }

    /// A check, if the block contains it.
    pub fn check(&self, id: CheckId) -> Option<Check> {
        let mut packed = self.checks();
        Some(packed.find(|packed| packed.slot == id.created_at())?.into_check(id))
    }

    /// The checks as checks of a tool, oldest first.
    pub fn checks_of(&self, partition: Partition, tool: Tool) -> Vec<Check> {
        let check = |packed: PackedCheck| {
            let id = CheckId::scheduled(partition, tool, packed.slot);
            packed.into_check(id)
        };
        self.checks().map(check).collect()
    }

    /// The checks, oldest first.
    pub fn checks(&self) -> impl DoubleEndedIterator<Item = PackedCheck> {
        self.records.iter().filter_map(|record| {
            let Record { slot, completed_at, shape, hundredths, has_failed, phases } = *record;
            let response_time = f64::from(hundredths) / 100.0;
            let result = StatusResult { response_time, phases, ..self.shapes.get(shape)?.clone() };
            Some(PackedCheck { slot, completed_at, has_failed, result })
        })
    }
}

/// The flags of a check.
fn flags(phases: Option<Phases>, has_failed: Option<bool>) -> u64 {
    let [lookup, connect, tls] = phases.unwrap_or_default().in_order().map(|phase| phase.is_some());
    let set = [
        (lookup, HAS_LOOKUP),
        (connect, HAS_CONNECT),
        (tls, HAS_TLS),
        (has_failed == Some(true), HAS_FAILED),
    ];
    set.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).sum()
}

/// A response time in hundredths of a millisecond, if that is a whole number.
fn hundredths(ms: f64) -> Option<u32> {
    let written = format!("{ms:.2}");
    let (whole, part) = written.split_once('.')?;
    let whole: u32 = whole.parse().ok()?;
    let hundredths = whole.checked_mul(100)?.checked_add(part.parse().ok()?)?;
    let is_exact = (f64::from(hundredths) / 100.0).to_bits() == ms.to_bits();
    is_exact.then_some(hundredths)
}

fn instant(millisecond: i64) -> Result<Timestamp, Unreadable> {
    Timestamp::from_millisecond(millisecond).map_err(|_| Unreadable::Malformed)
}

fn put_unsigned(bytes: &mut Vec<u8>, mut value: u64) {
    loop {
        let [low, ..] = value.to_le_bytes();
        value >>= 7;
        if value == 0 {
            bytes.push(low);
            return;
        }
        bytes.push(low | 0x80);
    }
}

fn put_signed(bytes: &mut Vec<u8>, value: i64) {
    let zigzag = (value << 1) ^ (value >> 63);
    put_unsigned(bytes, u64::from_le_bytes(zigzag.to_le_bytes()));
}

fn put_index(bytes: &mut Vec<u8>, index: usize) {
    put_unsigned(bytes, u64::try_from(index).unwrap_or(u64::MAX));
}

/// The bytes of a block that have not been read yet.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    const fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }

    fn unsigned(&mut self) -> Result<u64, Unreadable> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first().ok_or(Unreadable::CutOff)?;
            self.0 = rest;
            let bits = u64::from(byte & 0x7f);
            // The tenth byte has room for only one bit.
            if shift == 63 && bits > 1 {
                return Err(Unreadable::Malformed);
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Unreadable::Malformed)
    }

    fn signed(&mut self) -> Result<i64, Unreadable> {
        let zigzag = i64::from_le_bytes(self.unsigned()?.to_le_bytes());
        Ok(((zigzag >> 1) & i64::MAX) ^ -(zigzag & 1))
    }

    /// The index of something known, or the next index, if it is below `max`.
    fn index(&mut self, known: usize, max: usize) -> Result<usize, Unreadable> {
        let index = usize::try_from(self.unsigned()?).map_err(|_| Unreadable::Malformed)?;
        let is_valid = index <= known && index < max;
        is_valid.then_some(index).ok_or(Unreadable::Malformed)
    }

    /// The index of a check's shape, with the check's flags.
    fn head(&mut self, version: BlockVersion, known: usize) -> Result<(usize, u64), Unreadable> {
        if version == BlockVersion::One {
            return Ok((self.index(known, SHAPES_MAX)?, 0));
        }
        let head = self.unsigned()?;
        let (index, flags) = (head & ((1 << INDEX_BITS) - 1), head >> INDEX_BITS);
        let index = usize::try_from(index).map_err(|_| Unreadable::Malformed)?;
        let is_valid = index <= known && flags < HAS_FAILED << 1;
        is_valid.then_some((index, flags)).ok_or(Unreadable::Malformed)
    }

    /// The phases that a check has; `None` if it has none.
    fn phases(&mut self, flags: u64) -> Result<Option<Phases>, Unreadable> {
        let mut phase = |flag| {
            let has_phase = flags & flag != 0;
            let ms = has_phase.then(|| self.unsigned()).transpose()?;
            ms.map(|ms| u32::try_from(ms).map_err(|_| Unreadable::Malformed)).transpose()
        };
        let (lookup, connect, tls) = (phase(HAS_LOOKUP)?, phase(HAS_CONNECT)?, phase(HAS_TLS)?);
        let phases = Phases { lookup, connect, tls };
        Ok((phases != Phases::default()).then_some(phases))
    }

    fn text(&mut self, texts: &mut Vec<String>) -> Result<String, Unreadable> {
        let index = self.index(texts.len(), usize::MAX)?;
        if let Some(text) = texts.get(index) {
            return Ok(text.clone());
        }
        let length = usize::try_from(self.unsigned()?).map_err(|_| Unreadable::Malformed)?;
        let (text, rest) = self.0.split_at_checked(length).ok_or(Unreadable::CutOff)?;
        self.0 = rest;
        let text = std::str::from_utf8(text).map_err(|_| Unreadable::Malformed)?.to_owned();
        texts.push(text.clone());
        Ok(text)
    }

    fn shape(&mut self, texts: &mut Vec<String>) -> Result<StatusResult, Unreadable> {
        let flags = self.unsigned()?;
        if flags > UP | REDIRECTED | HAS_ERROR {
            return Err(Unreadable::Malformed);
        }
        let code = u16::try_from(self.unsigned()?).map_err(|_| Unreadable::Malformed)?;
        let redirect_count = u32::try_from(self.unsigned()?).map_err(|_| Unreadable::Malformed)?;
        let redirects = self.index(REDIRECTS_MAX, usize::MAX)?;
        Ok(StatusResult {
            up: flags & UP != 0,
            code,
            url: self.text(texts)?,
            effective_url: self.text(texts)?,
            response_time: 0.0,
            redirected: flags & REDIRECTED != 0,
            redirect_count,
            redirects: (0..redirects).map(|_| self.text(texts)).collect::<Result<_, _>>()?,
            error: (flags & HAS_ERROR != 0).then(|| self.text(texts)).transpose()?,
            phases: None,
            judged: None,
        })
    }
}

#[cfg(test)]
mod tests;
