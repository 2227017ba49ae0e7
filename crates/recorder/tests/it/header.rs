//! The header of the C interface, made from the source of that interface.
//!
//! `BLESS=1 cargo test -p kymo-recorder --test header` writes it anew.

use std::fmt::Write as _;
use std::{env, fs};

use syn::{Attribute, Expr, Fields, FnArg, Item, ItemConst, ItemFn, ItemStruct, Lit, Meta};
use syn::{Pat, PathArguments, ReturnType, Type, Visibility};

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/ffi/mod.rs");
const HEADER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/include/kymo_recorder.h");

const TOP: &str = "\
/* Records what a program does into files of the Ruler Trace Container (RTC).
 *
 * Made from src/ffi/mod.rs: change it there.
 *
 * Streams, clocks and annotations are numbers from 1 on. Functions that return an int return 0, or
 * -1 when they failed; kymo_error then says why. Texts are UTF-8 and end with a NUL. A recorder may
 * be used from many threads, until kymo_finish. After an error of the system, such as a full disk,
 * the file is readable up to there, and everything else fails.
 */
#ifndef KYMO_RECORDER_H
#define KYMO_RECORDER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern \"C\" {
#endif
";

const BOTTOM: &str = "
#ifdef __cplusplus
}
#endif

#endif
";

#[test]
fn the_header_says_what_the_source_says() {
    let source = syn::parse_file(&fs::read_to_string(SOURCE).unwrap()).unwrap();
    let mut header = TOP.to_owned();
    for item in &source.items {
        match item {
            Item::Const(item) if is_public(&item.vis) => constant(&mut header, item),
            Item::Struct(item) if is_public(&item.vis) => structure(&mut header, item),
            Item::Fn(item) if is_public(&item.vis) => function(&mut header, item),
            _ => {}
        }
    }
    header.push_str(BOTTOM);
    if env::var_os("BLESS").is_some() {
        fs::write(HEADER, &header).unwrap();
    }
    assert_eq!(fs::read_to_string(HEADER).unwrap(), header, "BLESS=1 writes it");
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn constant(header: &mut String, item: &ItemConst) {
    let Expr::Lit(value) = &*item.expr else { panic!("{} is not a number", item.ident) };
    let Lit::Int(value) = &value.lit else { panic!("{} is not a number", item.ident) };
    comment(header, "", &item.attrs);
    writeln!(header, "#define {} {value}", item.ident).unwrap();
}

/// A structure that C lays out is written out; any other is opaque.
fn structure(header: &mut String, item: &ItemStruct) {
    let name = &item.ident;
    comment(header, "", &item.attrs);
    if !item.attrs.iter().any(|attribute| attribute.path().is_ident("repr")) {
        writeln!(header, "typedef struct {name} {name};").unwrap();
        return;
    }
    let Fields::Named(fields) = &item.fields else { panic!("{name} has fields without names") };
    writeln!(header, "typedef struct {name} {{").unwrap();
    for field in &fields.named {
        comment(header, "    ", &field.attrs);
        let name = field.ident.as_ref().unwrap();
        writeln!(header, "    {};", declared(&field.ty, &name.to_string())).unwrap();
    }
    writeln!(header, "}} {name};").unwrap();
}

fn function(header: &mut String, item: &ItemFn) {
    let arguments: Vec<_> = item.sig.inputs.iter().map(argument).collect();
    let arguments = if arguments.is_empty() { "void".to_owned() } else { arguments.join(", ") };
    let ReturnType::Type(_, returned) = &item.sig.output else { panic!("returns nothing") };
    comment(header, "", &item.attrs);
    writeln!(header, "{}({arguments});", declared(returned, &item.sig.ident.to_string())).unwrap();
}

fn argument(argument: &FnArg) -> String {
    let FnArg::Typed(argument) = argument else { panic!("a method") };
    let Pat::Ident(name) = &*argument.pat else { panic!("an argument without a name") };
    declared(&argument.ty, &name.ident.to_string())
}

/// The declaration of something in C.
fn declared(declared: &Type, name: &str) -> String {
    match declared {
        Type::Ptr(pointer) if pointer.const_token.is_some() => {
            format!("const {} *{name}", simple(&pointer.elem))
        }
        Type::Ptr(pointer) => format!("{} *{name}", simple(&pointer.elem)),
        other => format!("{} {name}", simple(other)),
    }
}

fn simple(simple: &Type) -> String {
    let Type::Path(path) = simple else { panic!("a type that C does not have") };
    let last = path.path.segments.last().unwrap();
    assert!(matches!(last.arguments, PathArguments::None));
    let name = last.ident.to_string();
    let known = match name.as_str() {
        "c_char" => "char",
        "c_int" => "int",
        "c_void" => "void",
        "i32" => "int32_t",
        "u32" => "uint32_t",
        "u64" => "uint64_t",
        "f64" => "double",
        "usize" => "size_t",
        own if own.starts_with("kymo_") => own,
        other => panic!("{other} has no name in C here"),
    };
    known.to_owned()
}

/// The doc comment of an item, up to its section on safety, which `TOP` tells for all.
fn comment(header: &mut String, indent: &str, attributes: &[Attribute]) {
    let lines = attributes.iter().filter_map(doc_line);
    let lines: Vec<_> = lines.take_while(|line| line.trim() != "# Safety").collect();
    let text = lines.join("\n").trim().replace('`', "");
    let text = text.lines().map(str::trim).collect::<Vec<_>>().join(&format!("\n{indent} * "));
    let gap = if indent.is_empty() { "\n" } else { "" };
    writeln!(header, "{gap}{indent}/* {text} */").unwrap();
}

fn doc_line(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(meta) = &attribute.meta else { return None };
    let Expr::Lit(value) = &meta.value else { return None };
    match &value.lit {
        Lit::Str(text) if meta.path.is_ident("doc") => Some(text.value()),
        _ => None,
    }
}
