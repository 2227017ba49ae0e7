//! What letters stand for.

use super::node::Kind;

/// Types and protocols of the standard library.
pub(super) fn standard(letter: u8) -> Option<(&'static str, Kind)> {
    let (name, kind) = match letter {
        b'A' => ("AutoreleasingUnsafeMutablePointer", Kind::Other),
        b'a' => ("Array", Kind::Other),
        b'B' => ("BinaryFloatingPoint", Kind::Protocol),
        b'b' => ("Bool", Kind::Other),
        b'D' => ("Dictionary", Kind::Other),
        b'd' => ("Double", Kind::Other),
        b'E' => ("Encodable", Kind::Protocol),
        b'e' => ("Decodable", Kind::Protocol),
        b'F' => ("FloatingPoint", Kind::Protocol),
        b'f' => ("Float", Kind::Other),
        b'G' => ("RandomNumberGenerator", Kind::Protocol),
        b'H' => ("Hashable", Kind::Protocol),
        b'h' => ("Set", Kind::Other),
        b'I' => ("DefaultIndices", Kind::Other),
        b'i' => ("Int", Kind::Other),
        b'J' => ("Character", Kind::Other),
        b'j' => ("Numeric", Kind::Protocol),
        b'K' => ("BidirectionalCollection", Kind::Protocol),
        b'k' => ("RandomAccessCollection", Kind::Protocol),
        b'L' => ("Comparable", Kind::Protocol),
        b'l' => ("Collection", Kind::Protocol),
        b'M' => ("MutableCollection", Kind::Protocol),
        b'm' => ("RangeReplaceableCollection", Kind::Protocol),
        b'N' => ("ClosedRange", Kind::Other),
        b'n' => ("Range", Kind::Other),
        b'O' => ("ObjectIdentifier", Kind::Other),
        b'P' => ("UnsafePointer", Kind::Other),
        b'p' => ("UnsafeMutablePointer", Kind::Other),
        b'Q' => ("Equatable", Kind::Protocol),
        b'q' => ("Optional", Kind::Other),
        b'R' => ("UnsafeBufferPointer", Kind::Other),
        b'r' => ("UnsafeMutableBufferPointer", Kind::Other),
        b'S' => ("String", Kind::Other),
        b's' => ("Substring", Kind::Other),
        b'T' => ("Sequence", Kind::Protocol),
        b't' => ("IteratorProtocol", Kind::Protocol),
        b'U' => ("UnsignedInteger", Kind::Protocol),
        b'u' => ("UInt", Kind::Other),
        b'V' => ("UnsafeRawPointer", Kind::Other),
        b'v' => ("UnsafeMutableRawPointer", Kind::Other),
        b'W' => ("UnsafeRawBufferPointer", Kind::Other),
        b'w' => ("UnsafeMutableRawBufferPointer", Kind::Other),
        b'X' => ("RangeExpression", Kind::Protocol),
        b'x' => ("Strideable", Kind::Protocol),
        b'Y' => ("RawRepresentable", Kind::Protocol),
        b'y' => ("StringProtocol", Kind::Protocol),
        b'Z' => ("SignedInteger", Kind::Protocol),
        b'z' => ("BinaryInteger", Kind::Protocol),
        _ => return None,
    };
    Some((name, kind))
}

/// Those for programs that do several things at once.
pub(super) fn concurrent(letter: u8) -> Option<(&'static str, Kind)> {
    let (name, kind) = match letter {
        b'A' => ("Actor", Kind::Protocol),
        b'C' => ("CheckedContinuation", Kind::Other),
        b'c' => ("UnsafeContinuation", Kind::Other),
        b'E' => ("CancellationError", Kind::Other),
        b'e' => ("UnownedSerialExecutor", Kind::Other),
        b'F' => ("Executor", Kind::Protocol),
        b'f' => ("SerialExecutor", Kind::Protocol),
        b'G' => ("TaskGroup", Kind::Other),
        b'g' => ("ThrowingTaskGroup", Kind::Other),
        b'I' => ("AsyncIteratorProtocol", Kind::Protocol),
        b'i' => ("AsyncSequence", Kind::Protocol),
        b'J' => ("UnownedJob", Kind::Other),
        b'M' => ("MainActor", Kind::Class),
        b'P' => ("TaskPriority", Kind::Other),
        b'S' => ("AsyncStream", Kind::Other),
        b's' => ("AsyncThrowingStream", Kind::Other),
        b'T' => ("Task", Kind::Other),
        b't' => ("UnsafeCurrentTask", Kind::Other),
        _ => return None,
    };
    Some((name, kind))
}

/// The sign that a letter of an operator stands for.
pub(super) fn sign(letter: char) -> Option<char> {
    Some(match letter {
        'a' => '&',
        'c' => '@',
        'd' => '/',
        'e' => '=',
        'g' => '>',
        'l' => '<',
        'm' => '*',
        'n' => '!',
        'o' => '|',
        'p' => '+',
        'q' => '?',
        'r' => '%',
        's' => '-',
        't' => '~',
        'x' => '^',
        'z' => '.',
        other if !other.is_ascii() => other,
        _ => return None,
    })
}

pub(super) fn accessor(letter: u8) -> Option<&'static str> {
    Some(match letter {
        b'm' => "materializeForSet",
        b's' => "setter",
        b'g' | b'G' => "getter",
        b'w' => "willset",
        b'W' => "didset",
        b'r' => "read",
        b'M' => "modify",
        b'i' => "init",
        b'x' => "modify2",
        b'y' => "read2",
        b'b' => "borrow",
        b'z' => "mutate",
        _ => return None,
    })
}

pub(super) fn addressor(letter: u8, is_mutable: bool) -> Option<&'static str> {
    Some(match (letter, is_mutable) {
        (b'u', true) => "unsafeMutableAddressor",
        (b'u', false) => "unsafeAddressor",
        (b'O', true) => "owningMutableAddressor",
        (b'O', false) => "owningAddressor",
        (b'o', true) => "nativeOwningMutableAddressor",
        (b'o', false) => "nativeOwningAddressor",
        (b'p', true) => "nativePinningMutableAddressor",
        (b'p', false) => "nativePinningAddressor",
        _ => return None,
    })
}

/// What types and variables have besides functions.
pub(super) fn function_part(letter: u8) -> Option<&'static str> {
    Some(match letter {
        b'D' => "__deallocating_deinit",
        b'Z' => "__isolated_deallocating_deinit",
        b'd' => "deinit",
        b'E' => "__ivar_destroyer",
        b'e' => "__ivar_initializer",
        b'i' => "variable initialization expression",
        b'P' => "property wrapper backing initializer",
        b'W' => "property wrapper init from projected value",
        _ => return None,
    })
}

pub(super) fn thunk(letter: u8) -> Option<&'static str> {
    Some(match letter {
        b'A' => "partial apply for ",
        b'a' => "partial apply ObjC forwarder for ",
        b'c' => "curry thunk of ",
        b'j' => "dispatch thunk of ",
        b'q' => "method descriptor for ",
        b'o' => "@objc ",
        b'O' => "@nonobjc ",
        b'D' => "dynamic ",
        b'd' => "super ",
        b'E' => "distributed thunk ",
        b'F' => "distributed accessor for ",
        b'I' => "dynamically replaceable thunk for ",
        b'X' => "dynamically replaceable variable for ",
        b'x' => "dynamically replaceable key for ",
        b'S' => "protocol self-conformance witness for ",
        b'u' => "async function pointer to ",
        // Functions whose code is the same are the first of them.
        b'm' => "",
        _ => return None,
    })
}

pub(super) fn rare_thunk(letter: u8) -> Option<&'static str> {
    Some(match letter {
        b'b' => "back deployment thunk for ",
        b'B' => "back deployment fallback for ",
        b'c' => "coro function pointer to ",
        b'd' => "default override of ",
        b'S' => "#_hasSymbol query for ",
        _ => return None,
    })
}

pub(super) fn outlined(letter: u8) -> Option<&'static str> {
    Some(match letter {
        b'y' => "outlined copy of ",
        b'e' => "outlined consume of ",
        b'r' => "outlined retain of ",
        b's' => "outlined release of ",
        b'b' | b'B' => "outlined init with take of ",
        b'c' | b'C' => "outlined init with copy of ",
        b'd' | b'D' => "outlined assign with take of ",
        b'f' | b'F' => "outlined assign with copy of ",
        b'h' | b'H' => "outlined destroy of ",
        b'i' => "outlined enum tag store of ",
        b'j' => "outlined enum project data for load of ",
        b'g' => "outlined enum get tag of ",
        _ => return None,
    })
}

pub(super) fn witness(letter: u8) -> Option<&'static str> {
    Some(match letter {
        b'P' => "protocol witness table for ",
        b'a' => "protocol witness table accessor for ",
        b'G' => "generic protocol witness table for ",
        b'p' => "protocol witness table pattern for ",
        b'r' => "resilient protocol witness table for ",
        b'I' => "instantiation function for generic protocol witness table for ",
        _ => return None,
    })
}

pub(super) fn metadata(letter: u8) -> Option<&'static str> {
    Some(match letter {
        b'a' => "type metadata accessor for ",
        b'r' => "type metadata completion function for ",
        b'i' => "type metadata instantiation function for ",
        b'I' => "type metadata instantiation cache for ",
        b'l' => "type metadata singleton initialization cache for ",
        b'L' => "lazy cache variable for type metadata for ",
        b'f' => "full type metadata for ",
        b'P' => "generic type metadata pattern for ",
        b'n' => "nominal type descriptor for ",
        b'm' => "metaclass for ",
        b'u' => "method lookup function for ",
        b'U' => "ObjC metadata update function for ",
        b's' => "ObjC resilient class stub for ",
        b't' => "full ObjC resilient class stub for ",
        b'o' => "class metadata base offset for ",
        b'F' => "reflection metadata field descriptor ",
        b'B' => "reflection metadata builtin descriptor ",
        b'C' => "reflection metadata superclass descriptor ",
        b'D' => "demangling cache variable for type metadata for ",
        _ => return None,
    })
}

pub(super) fn value_witness(letters: &str) -> Option<&'static str> {
    Some(match letters {
        "al" => "allocateBuffer for ",
        "ca" => "assignWithCopy for ",
        "ta" => "assignWithTake for ",
        "de" => "deallocateBuffer for ",
        "xx" => "destroy for ",
        "XX" => "destroyBuffer for ",
        "Xx" => "destroyArray for ",
        "CP" => "initializeBufferWithCopyOfBuffer for ",
        "Cp" => "initializeBufferWithCopy for ",
        "cp" => "initializeWithCopy for ",
        "TK" => "initializeBufferWithTakeOfBuffer for ",
        "Tk" => "initializeBufferWithTake for ",
        "tk" => "initializeWithTake for ",
        "pr" => "projectBuffer for ",
        "xs" => "storeExtraInhabitant for ",
        "xg" => "getExtraInhabitantIndex for ",
        "Cc" => "initializeArrayWithCopy for ",
        "Tt" => "initializeArrayWithTakeFrontToBack for ",
        "tT" => "initializeArrayWithTakeBackToFront for ",
        "ug" => "getEnumTag for ",
        "up" => "destructiveProjectEnumData for ",
        "ui" => "destructiveInjectEnumTag for ",
        "et" => "getEnumTagSinglePayload for ",
        "st" => "storeEnumTagSinglePayload for ",
        _ => return None,
    })
}

/// How a function is called that is no plain one.
pub(super) fn function_kind(letter: u8) -> Option<&'static str> {
    Some(match letter {
        b'f' => "@convention(thin) ",
        b'K' | b'A' => "@autoclosure ",
        b'B' | b'L' => "@convention(block) ",
        b'C' => "@convention(c) ",
        b'E' => "",
        _ => return None,
    })
}

/// How a compiled function takes a parameter.
pub(super) fn parameter(letter: u8) -> Option<&'static str> {
    Some(match letter {
        b'i' => "@in ",
        b'c' => "@in_constant ",
        b'l' => "@inout ",
        b'b' => "@inout_aliasable ",
        b'n' => "@in_guaranteed ",
        b'X' => "@in_cxx ",
        b'x' => "@owned ",
        b'y' => "@unowned ",
        b'g' => "@guaranteed ",
        b'e' => "@deallocating ",
        b'v' => "@pack_owned ",
        b'p' => "@pack_guaranteed ",
        b'm' => "@pack_inout ",
        _ => return None,
    })
}

/// How a compiled function returns.
pub(super) fn result(letter: u8) -> Option<&'static str> {
    Some(match letter {
        b'r' => "@out ",
        b'o' => "@owned ",
        b'd' => "@unowned ",
        b'u' => "@unowned_inner_pointer ",
        b'a' => "@autoreleased ",
        b'k' => "@pack_out ",
        _ => return None,
    })
}

pub(super) fn builtin(letter: u8) -> Option<&'static str> {
    Some(match letter {
        b'A' => "ImplicitActor",
        b'b' => "BridgeObject",
        b'B' => "UnsafeValueBuffer",
        b'c' => "RawUnsafeContinuation",
        b'D' => "DefaultActorStorage",
        b'd' => "NonDefaultDistributedActorStorage",
        b'e' => "Executor",
        b'I' => "IntLiteral",
        b'j' => "Job",
        b'P' => "PackIndex",
        b'O' => "UnknownObject",
        b'o' => "NativeObject",
        b'p' => "RawPointer",
        b't' => "SILToken",
        b'w' => "Word",
        _ => return None,
    })
}
