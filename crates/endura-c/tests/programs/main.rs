//! Programs in C and C++: the headers alone, the examples, the tests of the wrapper, and the page `docs/c.md`, each
//! compiled without warnings by the compilers that are installed, with the sanitizers that they have, and run.
//!
//! A compiler that is missing is left out, with a line that says so.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod build;
mod page;

use std::path::{Path, PathBuf};

use build::{Build, Language, compilers, root};

/// Builds a program with each compiler, and runs it in an empty folder.
fn build_and_run(language: Language, source: &Path) {
    let name = source.file_stem().unwrap().to_str().unwrap();
    for compiler in compilers(language) {
        for sanitized in [false, true] {
            if let Some(build) = Build::new(language, compiler, sanitized) {
                build.run(&build.program(name, source));
            }
        }
    }
}

fn sources(folder: &str, language: Language) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let ending = language.ending();
    let found: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|found| found == ending)).collect();
    assert!(!found.is_empty(), "{folder} has programs");
    found
}

#[test]
fn the_headers_compile_alone() {
    for (language, header) in [
        (Language::C, "endura.h"),
        (Language::Cpp, "endura.h"),
        (Language::Cpp, "endura.hpp"),
        (Language::Cpp, "endura/error.hpp"),
        (Language::Cpp, "endura/codec.hpp"),
        (Language::Cpp, "endura/map.hpp"),
    ] {
        for compiler in compilers(language) {
            for standard in language.standards() {
                build::check_header(language, compiler, standard, header);
            }
        }
    }
}

#[test]
fn examples_in_c_run() {
    sources("examples/c", Language::C).iter().for_each(|path| build_and_run(Language::C, path));
}

#[test]
fn examples_in_cpp_run() {
    sources("examples/cpp", Language::Cpp)
        .iter()
        .for_each(|path| build_and_run(Language::Cpp, path));
}

#[test]
fn a_program_in_c_runs() {
    sources("tests/programs", Language::C).iter().for_each(|path| build_and_run(Language::C, path));
}

#[test]
fn the_wrapper_is_tested_in_cpp() {
    sources("tests/programs", Language::Cpp)
        .iter()
        .for_each(|path| build_and_run(Language::Cpp, path));
}

/// The adapters for PiBench, by a driver that plays its part.
#[test]
fn pibench_loads_all_three_kinds() {
    let (adapter, driver) = ("pibench/adapter.cpp", "tests/programs/pibench/driver.cpp");
    for compiler in compilers(Language::Cpp) {
        for sanitized in [false, true] {
            let Some(build) = Build::new(Language::Cpp, compiler, sanitized) else { continue };
            let driver = build.program("driver", &root().join(driver));
            for kind in ["FastFair", "NbTree", "Roart"] {
                let name = format!("libendura_pibench_{}.so", kind.to_lowercase());
                let definition = format!("-DENDURA_KIND=\"{kind}\"");
                let adapter = build.shared(&name, &root().join(adapter), &definition);
                let adapter = adapter.to_str().unwrap();
                assert_eq!(build.told(&driver, &[adapter, "8", "8"]), "");
                if kind == "Roart" {
                    assert_eq!(build.told(&driver, &[adapter, "24", "100"]), "");
                } else {
                    let told = build.told(&driver, &[adapter, "24", "100", "refused"]);
                    assert!(told.contains("not of 24 and 100"), "{told}");
                }
            }
        }
    }
}

#[test]
fn the_blocks_of_the_page_run() {
    let folder = tempfile::tempdir().unwrap();
    for language in [Language::C, Language::Cpp] {
        let source = folder.path().join(format!("page.{}", language.ending()));
        std::fs::write(&source, page::program(language)).unwrap();
        build_and_run(language, &source);
    }
}

/// A check that cannot fail is none: a warning fails a build, and a finding of a sanitizer a run.
#[test]
fn a_wrong_program_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("wrong.c");
    let code = "#include <endura.h>\n#include <stdlib.h>\nint main(void) {\n  char *p = malloc(4);\n  p[argument] = 1;\n  \
                return p[argument] - 1;\n}\n";
    for compiler in compilers(Language::C) {
        let Some(build) = Build::new(Language::C, compiler, true) else { continue };
        std::fs::write(&source, code.replace("argument", "4")).unwrap();
        let compiled = build.try_program("wrong", &source);
        assert!(compiled.is_err() || !build.succeeds(&compiled.unwrap()));
        std::fs::write(&source, code.replace("argument", "0").replace("*p", "*q, *p")).unwrap();
        assert!(build.try_program("wrong", &source).is_err(), "an unused variable");
    }
}
