//! Compilers, and how programs are compiled, linked and run with them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    C,
    Cpp,
}

impl Language {
    pub(crate) fn ending(self) -> &'static str {
        match self {
            Self::C => "c",
            Self::Cpp => "cpp",
        }
    }

    pub(crate) fn standards(self) -> &'static [&'static str] {
        match self {
            Self::C => &["c99", "c11"],
            Self::Cpp => &["c++17", "c++20"],
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::C => "c",
            Self::Cpp => "c++",
        }
    }
}

const STRICT: [&str; 4] = ["-Wall", "-Wextra", "-pedantic", "-Werror"];
const SANITIZED: [&str; 4] =
    ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"];

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The compilers of a language that are installed.
pub(crate) fn compilers(language: Language) -> Vec<&'static str> {
    let all = match language {
        Language::C => ["gcc", "clang"],
        Language::Cpp => ["g++", "clang++"],
    };
    let is_there = |compiler: &&str| {
        let is_there = Command::new(compiler).arg("--version").output().is_ok();
        if !is_there {
            println!("skipped: there is no `{compiler}`");
        }
        is_there
    };
    all.into_iter().filter(is_there).collect()
}

fn expect_success(what: &str, output: &Output) {
    let text =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(output.status.success(), "{what}: {}\n{}", output.status, text.concat());
    assert!(output.stderr.is_empty(), "{what} has written\n{}", text[1]);
}

pub(crate) fn check_header(language: Language, compiler: &str, standard: &str, header: &str) {
    let mut command = Command::new(compiler);
    command.args([&format!("-std={standard}"), "-fsyntax-only", "-x", language.name()]);
    // As a program includes it: a header that is compiled itself may not be included once.
    command.args(STRICT).arg("-I").arg(root().join("include")).args(["-include", header]);
    expect_success(
        &format!("{compiler} {standard} {header}"),
        &command.arg("/dev/null").output().unwrap(),
    );
}

/// The shared library, as Cargo has built it for this test.
fn library() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let places = program.ancestors().skip(1).take(3);
    let places = places.flat_map(|folder| [folder.to_owned(), folder.join("deps")]);
    let newest = places.map(|folder| folder.join("libendura_c.so")).filter_map(|path| {
        let time = fs::metadata(&path).and_then(|meta| meta.modified()).ok()?;
        Some((time, path))
    });
    newest.max().expect("the library is built beside its tests").1
}

/// A compiler with its flags, and a folder for what it makes.
pub(crate) struct Build {
    folder: TempDir,
    compiler: &'static str,
    language: Language,
    sanitized: bool,
}

impl Build {
    /// `None`, and a line that says so, if the sanitizers of the compiler are not installed.
    pub(crate) fn new(language: Language, compiler: &'static str, sanitized: bool) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        for name in ["libendura.so", &soname()] {
            symlink(library(), folder.path().join(name)).unwrap();
        }
        let build = Self { folder, compiler, language, sanitized };
        let empty = build.folder.path().join(format!("empty.{}", language.ending()));
        fs::write(&empty, "int main(void) { return 0; }\n").unwrap();
        let works =
            build.try_program("empty", &empty).is_ok_and(|program| build.succeeds(&program));
        assert!(works || sanitized, "{compiler} works");
        if !works {
            println!("skipped: the sanitizers of `{compiler}` are not installed");
        }
        works.then_some(build)
    }

    /// Compiles a source with these flags beside those of all programs.
    fn compile(&self, source: &Path, to: &Path, flags: &[&str]) -> Output {
        let folder = self.folder.path();
        let mut command = Command::new(self.compiler);
        command.arg(format!("-std={}", self.language.standards()[0])).args(STRICT);
        if self.sanitized {
            command.args(SANITIZED);
        }
        command.args(flags).arg("-I").arg(root().join("include")).arg(source).arg("-o").arg(to);
        command.arg("-L").arg(folder).arg(format!("-Wl,-rpath,{}", folder.display()));
        command.args(["-lendura", "-lpthread", "-ldl"]).output().unwrap()
    }

    pub(crate) fn try_program(&self, name: &str, source: &Path) -> Result<PathBuf, Output> {
        let program = self.folder.path().join(name);
        let output = self.compile(source, &program, &[]);
        if output.status.success() { Ok(program) } else { Err(output) }
    }

    /// A shared library of a source.
    pub(crate) fn shared(&self, name: &str, source: &Path, definition: &str) -> PathBuf {
        let library = self.folder.path().join(name);
        let output = self.compile(source, &library, &["-shared", "-fPIC", definition]);
        expect_success(&format!("{} {name}", self.compiler), &output);
        library
    }

    pub(crate) fn program(&self, name: &str, source: &Path) -> PathBuf {
        self.try_program(name, source).unwrap_or_else(|output| {
            expect_success(&format!("{} {}", self.compiler, source.display()), &output);
            unreachable!("it has failed");
        })
    }

    fn output(&self, program: &Path, arguments: &[&str]) -> Output {
        let folder = tempfile::tempdir_in(self.folder.path()).unwrap();
        let mut command = Command::new(program);
        command.env("ASAN_OPTIONS", "detect_leaks=1").current_dir(folder.path());
        command.args(arguments).output().unwrap()
    }

    pub(crate) fn succeeds(&self, program: &Path) -> bool {
        self.output(program, &[]).status.success()
    }

    pub(crate) fn run(&self, program: &Path) {
        let what = format!("{} of {}", program.display(), self.compiler);
        expect_success(&what, &self.output(program, &[]));
    }

    /// Runs a program that may write to standard error; returns what it has written there.
    pub(crate) fn told(&self, program: &Path, arguments: &[&str]) -> String {
        let output = self.output(program, arguments);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {}\n{text}", output.status);
        text
    }
}

/// The name by which programs find the library: before 1.0 each minor version may break them.
fn soname() -> String {
    let (major, minor) = (env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"));
    let version = if major == "0" { format!("0.{minor}") } else { major.to_owned() };
    format!("libendura.so.{version}")
}
