//! The pages hold together: links lead somewhere, and every decision is in the list of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The pages of a folder, by name.
fn pages_in(folder: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(root().join(folder)).unwrap().map(|file| file.unwrap().path());
    let mut pages: Vec<_> =
        files.filter(|file| file.extension().is_some_and(|of| of == "md")).collect();
    pages.sort();
    pages
}

/// A page without its blocks of code, in which nothing is a link or a heading.
fn prose(page: &Path) -> String {
    let mut is_code = false;
    let text = fs::read_to_string(page).unwrap();
    let lines = text.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        is_code ^= fence;
        !fence && !is_code
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Where the links of a page lead.
fn links(page: &Path) -> Vec<String> {
    let prose = prose(page);
    let behind = prose.split("](").skip(1);
    let ends = behind.filter_map(|rest| Some(rest.split_once(')')?.0.to_owned()));
    ends.filter(|link| !link.starts_with("http")).collect()
}

/// What links to the headings of a page end with.
fn anchors(page: &Path) -> BTreeSet<String> {
    let prose = prose(page);
    let headings = prose.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| -> String {
        let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        let text = heading.trim_start_matches('#').trim().to_lowercase();
        text.chars().filter(kept).map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn links_lead_somewhere() {
    let mut lost = Vec::new();
    for page in ["", "docs", "docs/decisions"].into_iter().flat_map(pages_in) {
        for link in links(&page) {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match file {
                "" => page.clone(),
                _ => page.parent().unwrap().join(file),
            };
            let is_there =
                target.exists() && (anchor.is_empty() || anchors(&target).contains(anchor));
            if !is_there {
                lost.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(lost.is_empty(), "{lost:#?}");
}

#[test]
fn every_decision_is_in_the_list() {
    let list = root().join("docs/decisions/README.md");
    let listed = fs::read_to_string(&list).unwrap();
    let listed = listed.split_whitespace().collect::<Vec<_>>().join(" ");
    for page in pages_in("docs/decisions").into_iter().filter(|page| *page != list) {
        let text = fs::read_to_string(&page).unwrap();
        let title = text.lines().next().unwrap().trim_start_matches("# ");
        let entry = format!("[{title}]({})", page.file_name().unwrap().to_str().unwrap());
        assert!(listed.contains(&entry), "docs/decisions/README.md has no {entry}");
    }
}
