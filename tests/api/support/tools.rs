//! Further programs, for the tests that `script/test --all` runs; it installs them. Elsewhere, and
//! where one cannot be had, these tests say that they are skipped.

use std::path::{Path, PathBuf};

fn tools() -> Option<PathBuf> {
    let directory = std::env::var_os("SEKISHO_TOOLS").map(PathBuf::from);
    if std::env::var("SEKISHO_TEST_ALL").as_deref() == Ok("1") {
        directory
    } else {
        None
    }
}

fn found(program: &str, path: PathBuf) -> Option<PathBuf> {
    if path.exists() {
        return Some(path);
    }
    println!("skipped: {program} could not be installed");
    None
}

fn not_all(program: &str) {
    println!("skipped: needs {program} (script/test --all)");
}

/// A program of a Python package.
pub fn python_program(name: &str) -> Option<PathBuf> {
    match tools() {
        Some(tools) => found(name, tools.join("python/bin").join(name)),
        None => {
            not_all(name);
            None
        }
    }
}

/// The folder whose node_modules holds a package.
pub fn node_folder(package: &str) -> Option<PathBuf> {
    match tools() {
        Some(tools) => {
            let folder = tools.join("node");
            found(package, folder.join("node_modules").join(package)).map(|_| folder)
        }
        None => {
            not_all(package);
            None
        }
    }
}

/// A program of a Debian package.
pub fn system_program(name: &str) -> Option<PathBuf> {
    if tools().is_none() {
        not_all(name);
        return None;
    }
    let places = ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];
    let path = places
        .map(|place| Path::new(place).join(name))
        .into_iter()
        .find(|path| path.exists());
    if path.is_none() {
        println!("skipped: {name} could not be installed");
    }
    path
}
