//! Links the binary at a fixed address and with the C library in it. Each guard and host would otherwise dirty the pages of its
//! own relocations, and each start of a command would look for libraries, map and bind them: a third of the time that it takes.
//! Where there is no static C library, only what unwinds the stack becomes part of it.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let target = |key: &str| std::env::var(format!("CARGO_CFG_TARGET_{key}")).unwrap_or_default();
    if target("OS") == "linux" {
        println!("cargo:rustc-link-arg-bins=-no-pie");
        if target("ENV") == "gnu" {
            println!("cargo:rustc-link-lib=static:-bundle=gcc_eh");
            if let Some(dir) = static_libraries() {
                println!("cargo:rustc-link-arg-bins=-static");
                println!("cargo:rustc-link-arg-bins=-L{}", dir.display());
                // They need each other, and some linkers look into each once, in order.
                println!("cargo:rustc-link-arg-bins=-Wl,--start-group,-lgcc,-lgcc_eh,-lc,--end-group");
            }
        }
    }
}

/// A directory that has the static form of every library that is linked, so that it is found before the shared one: to say so
/// to the compiler (`crt-static`) it must be said of all crates, and then no proc macro can be built.
fn static_libraries() -> Option<PathBuf> {
    let dir = Path::new(&std::env::var_os("OUT_DIR")?).join("static");
    // Left by a build of other settings.
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir(&dir).ok()?;
    let linker = std::env::var_os("RUSTC_LINKER");
    // What links for another machine may be named where we do not see it.
    let is_ours = std::env::var_os("HOST") == std::env::var_os("TARGET");
    let linker = linker.or_else(|| is_ours.then(|| "cc".into()))?;
    for library in ["libc.a", "libm.a", "libpthread.a", "libdl.a", "librt.a", "libutil.a", "libgcc_s.a"] {
        // There is no static form of it, but one of what is needed of it.
        let wanted = if library == "libgcc_s.a" { "libgcc_eh.a" } else { library };
        let found = Command::new(&linker).arg(format!("-print-file-name={wanted}")).output().ok()?;
        let path = PathBuf::from(String::from_utf8(found.stdout).ok()?.trim());
        // A name that is not found is given back as it is.
        let path = path.is_absolute().then_some(path)?;
        // What stands there may move when the compiler becomes another one, and links to nothing are passed over in silence.
        println!("cargo:rerun-if-changed={}", path.display());
        std::os::unix::fs::symlink(path, dir.join(library)).ok()?;
    }
    Some(dir)
}
