//! Codes of operators and of types that the language has.

/// An operator by its code.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Operator {
    pub(super) code: &'static str,
    pub(super) text: &'static str,
    /// How many operands it has in an expression.
    pub(super) operands: u8,
}

/// The operator of a code.
pub(super) fn operator(code: &[u8]) -> Option<&'static Operator> {
    OPERATORS.iter().find(|operator| operator.code.as_bytes() == code)
}

const fn op(code: &'static str, text: &'static str, operands: u8) -> Operator {
    Operator { code, text, operands }
}

/// In the order of their codes.
static OPERATORS: &[Operator] = &[
    op("aN", "&=", 2),
    op("aS", "=", 2),
    op("aa", "&&", 2),
    op("ad", "&", 1),
    op("an", "&", 2),
    op("at", "alignof ", 1),
    op("aw", "co_await ", 1),
    op("az", "alignof ", 1),
    op("cc", "const_cast", 2),
    op("cl", "()", 2),
    op("cm", ",", 2),
    op("co", "~", 1),
    op("dV", "/=", 2),
    op("da", "delete[] ", 1),
    op("dc", "dynamic_cast", 2),
    op("de", "*", 1),
    op("dl", "delete ", 1),
    op("ds", ".*", 2),
    op("dt", ".", 2),
    op("dv", "/", 2),
    op("eO", "^=", 2),
    op("eo", "^", 2),
    op("eq", "==", 2),
    op("ge", ">=", 2),
    op("gs", "::", 1),
    op("gt", ">", 2),
    op("ix", "[]", 2),
    op("lS", "<<=", 2),
    op("le", "<=", 2),
    op("ls", "<<", 2),
    op("lt", "<", 2),
    op("mI", "-=", 2),
    op("mL", "*=", 2),
    op("mi", "-", 2),
    op("ml", "*", 2),
    op("mm", "--", 1),
    op("na", "new[]", 3),
    op("ne", "!=", 2),
    op("ng", "-", 1),
    op("nt", "!", 1),
    op("nw", "new", 3),
    op("nx", "noexcept", 1),
    op("oR", "|=", 2),
    op("oo", "||", 2),
    op("or", "|", 2),
    op("pL", "+=", 2),
    op("pl", "+", 2),
    op("pm", "->*", 2),
    op("pp", "++", 1),
    op("ps", "+", 1),
    op("pt", "->", 2),
    op("qu", "?", 3),
    op("rM", "%=", 2),
    op("rS", ">>=", 2),
    op("rc", "reinterpret_cast", 2),
    op("rm", "%", 2),
    op("rs", ">>", 2),
    op("sc", "static_cast", 2),
    op("ss", "<=>", 2),
    op("st", "sizeof ", 1),
    op("sz", "sizeof ", 1),
    op("te", "typeid ", 1),
    op("ti", "typeid ", 1),
    op("tw", "throw ", 1),
];

/// A type of one letter.
pub(super) fn builtin(letter: u8) -> Option<&'static str> {
    Some(match letter {
        b'a' => "signed char",
        b'b' => "bool",
        b'c' => "char",
        b'd' => "double",
        b'e' => "long double",
        b'f' => "float",
        b'g' => "__float128",
        b'h' => "unsigned char",
        b'i' => "int",
        b'j' => "unsigned int",
        b'l' => "long",
        b'm' => "unsigned long",
        b'n' => "__int128",
        b'o' => "unsigned __int128",
        b's' => "short",
        b't' => "unsigned short",
        b'v' => "void",
        b'w' => "wchar_t",
        b'x' => "long long",
        b'y' => "unsigned long long",
        b'z' => "...",
        _ => return None,
    })
}

/// A type of `D` and a letter.
pub(super) fn newer_builtin(letter: u8) -> Option<&'static str> {
    Some(match letter {
        b'a' => "auto",
        b'c' => "decltype(auto)",
        b'd' => "decimal64",
        b'e' => "decimal128",
        b'f' => "decimal32",
        b'h' => "half",
        b'i' => "char32_t",
        b'n' => "decltype(nullptr)",
        b's' => "char16_t",
        b'u' => "char8_t",
        _ => return None,
    })
}

/// What follows a literal of a type; nothing where the type is put before it.
pub(super) fn literal_suffix(of: &str) -> Option<&'static str> {
    Some(match of {
        "int" => "",
        "unsigned int" => "u",
        "long" => "l",
        "unsigned long" => "ul",
        "long long" => "ll",
        "unsigned long long" => "ull",
        _ => return None,
    })
}

/// What `S` and a letter stand for: shown, in full, and the name of its constructor.
pub(super) fn standard(letter: u8) -> Option<[&'static str; 3]> {
    Some(match letter {
        b'a' => ["std::allocator", "std::allocator", "allocator"],
        b'b' => ["std::basic_string", "std::basic_string", "basic_string"],
        b's' => [
            "std::string",
            "std::basic_string<char, std::char_traits<char>, std::allocator<char> >",
            "basic_string",
        ],
        b'i' => {
            ["std::istream", "std::basic_istream<char, std::char_traits<char> >", "basic_istream"]
        }
        b'o' => {
            ["std::ostream", "std::basic_ostream<char, std::char_traits<char> >", "basic_ostream"]
        }
        b'd' => [
            "std::iostream",
            "std::basic_iostream<char, std::char_traits<char> >",
            "basic_iostream",
        ],
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_stand_in_the_order_of_their_codes() {
        assert!(OPERATORS.is_sorted_by_key(|operator| operator.code));
    }
}
