//! The prototypes and constants of the header.

use std::collections::BTreeMap;

pub(crate) const HEADER: &str = include_str!("../../include/endura.h");

/// A function that the header declares.
pub(crate) struct Prototype {
    pub(crate) name: String,
    returns: String,
    arguments: Vec<(String, String)>,
}

impl Prototype {
    /// The signature that a Rust function of this prototype has.
    pub(crate) fn signature(&self) -> String {
        let arguments = self.arguments.iter().map(|(kind, name)| format!("{name}: {}", rust(kind)));
        let arguments = arguments.collect::<Vec<_>>().join(", ");
        match &*self.returns {
            "void" => format!("({arguments})"),
            kind => format!("({arguments}) -> {}", rust(kind)),
        }
    }
}

/// The Rust type of a type of C.
fn rust(kind: &str) -> String {
    if let Some(to) = kind.strip_suffix('*') {
        let to = to.trim_end();
        return match to.strip_prefix("const ").filter(|inner| !inner.contains('*')) {
            Some(inner) => format!("*const {}", rust(inner)),
            None => format!("*mut {}", rust(to)),
        };
    }
    let name = match kind {
        "void" => "c_void",
        "char" => "c_char",
        "int" => "c_int",
        "size_t" => "usize",
        "uint8_t" => "u8",
        "uint32_t" => "u32",
        "uint64_t" => "u64",
        "int64_t" => "i64",
        "endura_status" => "Status",
        "endura_pool" => "PoolHandle",
        "endura_map" => "MapHandle",
        "endura_iter" => "IterHandle",
        "endura_batch" => "BatchHandle",
        "endura_transaction" => "TransactionHandle",
        "endura_slice" => "Slice",
        "endura_buf" => "Buf",
        "endura_options" => "Options",
        "endura_pair_u64" => "Pair",
        "endura_look" => "Option<Look>",
        "endura_found" => "Option<Found>",
        "endura_visit_entry" => "Option<VisitEntry>",
        "endura_run" => "Option<Run>",
        "endura_look_at" => "Option<LookAt>",
        other => panic!("a type that has no twin in Rust: `{other}`"),
    };
    name.to_owned()
}

/// The text without comments and preprocessor lines.
fn code(header: &str) -> String {
    let mut code = String::new();
    let mut rest = header;
    while let Some((before, behind)) = rest.split_once("/*") {
        code.push_str(before);
        rest = behind.split_once("*/").expect("a comment that ends").1;
    }
    code.push_str(rest);
    code.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect()
}

/// `const char *name` as type and name.
fn declared(text: &str) -> (String, String) {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let at = text.rfind(|c: char| !(c.is_alphanumeric() || c == '_')).expect("a type and a name");
    (text[..=at].trim().to_owned(), text[at + 1..].to_owned())
}

/// The functions that the header declares: what ends with a semicolon, has brackets, and is no `typedef`.
pub(crate) fn prototypes(header: &str) -> Vec<Prototype> {
    let code = code(header);
    let code = code.split_once("extern \"C\" {").map_or(&*code, |(_, rest)| rest);
    let statements = code.split(';').map(str::trim);
    let functions = statements.filter(|text| text.contains('(') && !text.contains("typedef"));
    functions
        .map(|text| {
            let (head, arguments) = text.split_once('(').unwrap();
            // Behind the brace of an `enum` or a structure a function may follow.
            let head = head.rsplit('}').next().unwrap();
            let (returns, name) = declared(head);
            let arguments = arguments.strip_suffix(')').expect("one function a statement");
            let arguments = match arguments {
                "void" => Vec::new(),
                list => list.split(',').map(declared).collect(),
            };
            Prototype { name, returns, arguments }
        })
        .collect()
}

/// The enumerators, without `ENDURA_`.
pub(crate) fn constants(header: &str) -> BTreeMap<String, i64> {
    let code = code(header);
    let words = code.split([',', '{', '}', ';', '\n']).filter_map(|item| item.split_once('='));
    words
        .map(|(name, number)| {
            let number = number.trim();
            let number = match number.strip_prefix("0x") {
                Some(digits) => i64::from_str_radix(digits, 16),
                None => number.parse(),
            };
            let name = name.trim().strip_prefix("ENDURA_").expect("a name of endura");
            (name.to_owned(), number.expect("a number"))
        })
        .collect()
}
