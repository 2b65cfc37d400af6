//! The functions and constants of the source.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use quote::ToTokens;
use syn::{Expr, ExprLit, ExprUnary, FnArg, Item, ItemFn, Lit, Pat, ReturnType, UnOp};

fn items(files: &[PathBuf]) -> Vec<Item> {
    let parse = |file| syn::parse_file(&fs::read_to_string(file).unwrap()).unwrap().items;
    files.iter().flat_map(parse).collect()
}

fn text(tokens: &impl ToTokens) -> String {
    let text = tokens.to_token_stream().to_string();
    ["* ", " <", "< ", " >"].iter().fold(text, |text, from| text.replace(from, from.trim()))
}

fn is_exported(function: &ItemFn) -> bool {
    function.attrs.iter().any(|attribute| text(&attribute.meta).contains("no_mangle"))
}

fn signature(function: &ItemFn) -> String {
    let arguments = function.sig.inputs.iter().map(|argument| match argument {
        FnArg::Typed(argument) => match &*argument.pat {
            Pat::Ident(name) => format!("{}: {}", name.ident, text(&argument.ty)),
            _ => panic!("{}: an argument without a name", function.sig.ident),
        },
        FnArg::Receiver(_) => panic!("{}: a method", function.sig.ident),
    });
    let arguments = arguments.collect::<Vec<_>>().join(", ");
    match &function.sig.output {
        ReturnType::Default => format!("({arguments})"),
        ReturnType::Type(_, kind) => format!("({arguments}) -> {}", text(kind)),
    }
}

/// The signatures of all exported functions, by name.
pub(crate) fn functions(files: &[PathBuf]) -> BTreeMap<String, String> {
    let exported = items(files).into_iter().filter_map(|item| match item {
        Item::Fn(function) if is_exported(&function) => {
            let abi = function.sig.abi.as_ref().map(text);
            assert_eq!(abi.as_deref(), Some("extern \"C\""), "{}", function.sig.ident);
            Some((function.sig.ident.to_string(), signature(&function)))
        }
        _ => None,
    });
    exported.collect()
}

/// The public constants of a type.
pub(crate) fn constants(files: &[PathBuf], kind: &str) -> BTreeMap<String, i64> {
    let of_kind = items(files).into_iter().filter_map(|item| match item {
        Item::Const(item)
            if text(&item.ty) == kind && matches!(item.vis, syn::Visibility::Public(_)) =>
        {
            Some((item.ident.to_string(), number(&item.expr)))
        }
        _ => None,
    });
    of_kind.collect()
}

fn number(expression: &Expr) -> i64 {
    match expression {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse().unwrap(),
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => -number(expr),
        other => panic!("no number: {}", text(other)),
    }
}
