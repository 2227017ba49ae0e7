//! Addresses looked up one by one, where all of a module's structure would be too much.

/// A place in the source: the path of a file, and a line, which is 0 where it is not known.
pub type SourcePlace = (String, u32);

/// Tells of modules that no structure file tells of.
pub trait Symbols: Sync {
    /// Returns the resolver that looks up addresses of a module; `None` where nothing is known of
    /// it. The path is the one that was recorded, and the other one where it leads, if it is
    /// relative.
    fn module<'a>(&'a self, path: &str, resolved: Option<&str>) -> Option<Box<dyn Resolver + 'a>>;
}

/// Looks up addresses of one module, on whatever thread has time for it.
pub trait Resolver: Send {
    /// Appends the scopes around an address, from the function in; nothing where none is known.
    fn resolve(&mut self, address: u64, to: &mut Vec<Resolved>);

    /// Returns the reason why less is known of the module than could be, in words that follow its
    /// name.
    fn limitation(&self) -> Option<String> {
        None
    }

    /// Returns true if that is because the file that describes it is damaged, or more than is read:
    /// something is lost.
    fn is_damaged(&self) -> bool {
        false
    }
}

/// A scope around an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolved {
    /// A function.
    Function {
        /// Number of the record that describes it: the same function of the module has the same
        /// number.
        record: u64,
        /// The name that a person reads.
        name: String,
        /// Place where it is defined.
        at: Option<SourcePlace>,
        /// The address of its first instruction, where it is known.
        entry: Option<u64>,
    },
    /// A call whose code the compiler put in place.
    Inlined {
        /// Number of the record that describes the function.
        record: u64,
        /// The name of the function that was inlined.
        name: String,
        /// Place where that is defined.
        at: Option<SourcePlace>,
        /// Place of the call.
        call: Option<SourcePlace>,
    },
    /// A loop.
    Loop {
        /// Place where it begins, if there is information on lines.
        at: Option<SourcePlace>,
        /// The address of its first instruction.
        entry: u64,
    },
    /// A line of source.
    Line {
        /// Place of the line.
        at: SourcePlace,
    },
}
