//! Links the binary at a fixed address: each guard and host would otherwise dirty the pages of its own relocations.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let target = |key: &str| std::env::var(format!("CARGO_CFG_TARGET_{key}")).unwrap_or_default();
    if target("OS") == "linux" {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
