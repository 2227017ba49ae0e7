//! The formats that every reader decodes, as types: a [`Stream`](crate::Stream) of one of them
//! takes values, not bytes.

use std::marker::PhantomData;

use kymo_rtc_wire::leb128::Encoded;

use crate::error::{Error, Result};
use crate::time::Timespec;

/// Conversion of values of a stream to bytes.
pub trait Format {
    /// Value that a stream of this format takes.
    type Value<'a>;

    /// The bytes of every value, if that is fixed.
    const LENGTH: Option<u64>;

    /// The name in the file.
    fn name() -> String;

    /// Calls `body` with the bytes of a value.
    fn encode<R>(value: Self::Value<'_>, body: impl FnOnce(&[u8]) -> Result<R>) -> Result<R>;
}

/// Numbers with the least significant byte first: `Le<u16>` is `uint16le`.
#[derive(Debug)]
pub struct Le<T>(PhantomData<T>);

/// Numbers with the most significant byte first: `Be<u16>` is `uint16be`.
#[derive(Debug)]
pub struct Be<T>(PhantomData<T>);

/// Implements a format for a number in the machine's order and in each fixed one.
macro_rules! numbers {
    ($($number:ty, $name:literal;)+) => {$(
        numbers!($number, $number, $name, to_ne_bytes);
        numbers!(Le<$number>, $number, concat!($name, "le"), to_le_bytes);
        numbers!(Be<$number>, $number, concat!($name, "be"), to_be_bytes);
    )+};
    ($format:ty, $number:ty, $name:expr, $bytes:ident) => {
        impl Format for $format {
            type Value<'a> = $number;
            const LENGTH: Option<u64> = Some(size_of::<$number>() as u64);

            fn name() -> String {
                $name.to_owned()
            }

            #[inline]
            fn encode<R>(value: $number, body: impl FnOnce(&[u8]) -> Result<R>) -> Result<R> {
                body(&value.$bytes())
            }
        }
    };
}

numbers! {
    u8, "uint8";
    u16, "uint16";
    u32, "uint32";
    u64, "uint64";
    i8, "int8";
    i16, "int16";
    i32, "int32";
    i64, "int64";
    f32, "float32";
    f64, "float64";
}

/// Whole numbers from 0 on that take fewer bytes when they are small.
#[derive(Debug)]
pub struct Uleb128;

impl Format for Uleb128 {
    type Value<'a> = u64;
    const LENGTH: Option<u64> = None;

    fn name() -> String {
        "uleb128".to_owned()
    }

    fn encode<R>(value: u64, body: impl FnOnce(&[u8]) -> Result<R>) -> Result<R> {
        body(Encoded::unsigned(value).as_bytes())
    }
}

/// Whole numbers that take fewer bytes when they are near 0.
#[derive(Debug)]
pub struct Leb128;

impl Format for Leb128 {
    type Value<'a> = i64;
    const LENGTH: Option<u64> = None;

    fn name() -> String {
        "leb128".to_owned()
    }

    fn encode<R>(value: i64, body: impl FnOnce(&[u8]) -> Result<R>) -> Result<R> {
        body(Encoded::signed(value).as_bytes())
    }
}

/// Text.
#[derive(Debug)]
pub struct Utf8;

impl Format for Utf8 {
    type Value<'a> = &'a str;
    const LENGTH: Option<u64> = None;

    fn name() -> String {
        "utf-8".to_owned()
    }

    fn encode<R>(value: &str, body: impl FnOnce(&[u8]) -> Result<R>) -> Result<R> {
        body(value.as_bytes())
    }
}

/// JSON text; what is not JSON is refused.
#[derive(Debug)]
pub struct Json;

impl Format for Json {
    type Value<'a> = &'a str;
    const LENGTH: Option<u64> = None;

    fn name() -> String {
        "json".to_owned()
    }

    fn encode<R>(value: &str, body: impl FnOnce(&[u8]) -> Result<R>) -> Result<R> {
        if !kymo_rtc_wire::meta::is_json(value) {
            return Err(Error::NotJson);
        }
        body(value.as_bytes())
    }
}

/// Bytes that are not to be processed, or in a format that the stream names itself.
#[derive(Debug)]
pub struct Raw;

impl Format for Raw {
    type Value<'a> = &'a [u8];
    const LENGTH: Option<u64> = None;

    fn name() -> String {
        "raw".to_owned()
    }

    #[inline]
    fn encode<R>(value: &[u8], body: impl FnOnce(&[u8]) -> Result<R>) -> Result<R> {
        body(value)
    }
}

impl Format for Timespec {
    type Value<'a> = Self;
    const LENGTH: Option<u64> = Some(Self::BYTES as u64);

    fn name() -> String {
        "timespec".to_owned()
    }

    fn encode<R>(value: Self, body: impl FnOnce(&[u8]) -> Result<R>) -> Result<R> {
        body(&value.to_bytes())
    }
}

/// Remarks up to here, with their time, are put together without allocating.
const SHORT_BYTES: usize = 256;

/// Remarks of format `F` on a point in time.
#[derive(Debug)]
pub struct Annotate<F>(PhantomData<F>);

impl<F: Format> Format for Annotate<F> {
    type Value<'a> = (Timespec, F::Value<'a>);
    const LENGTH: Option<u64> = match F::LENGTH {
        Some(length) => Some(Timespec::BYTES as u64 + length),
        None => None,
    };

    fn name() -> String {
        format!("annotate/{}", F::name())
    }

    fn encode<R>(
        (time, value): (Timespec, F::Value<'_>),
        body: impl FnOnce(&[u8]) -> Result<R>,
    ) -> Result<R> {
        F::encode(value, |bytes| {
            let mut short = [0; SHORT_BYTES];
            let Some(slots) = short.get_mut(..Timespec::BYTES + bytes.len()) else {
                return body(&[time.to_bytes().as_slice(), bytes].concat());
            };
            let (head, rest) = slots.split_at_mut(Timespec::BYTES);
            head.copy_from_slice(&time.to_bytes());
            rest.copy_from_slice(bytes);
            body(slots)
        })
    }
}
