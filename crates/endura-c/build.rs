//! How the shared library is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return;
    }
    // Each 0.x may break programs, so that both numbers are in the name by which they find it.
    let version = ["MAJOR", "MINOR"].map(|part| {
        std::env::var(format!("CARGO_PKG_VERSION_{part}")).unwrap_or_else(|_| "0".into())
    });
    let soname = match &*version[0] {
        "0" => format!("0.{}", version[1]),
        major => major.to_owned(),
    };
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libendura.so.{soname}");
    // Threads of the program run code of the library when they end, and `exit` does: it stays loaded after `dlclose`.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
