//! Links that go down while a load is under way, in a namespace of its own.

use std::process::Command;
use std::time::Duration;

use crate::broken::{first_failure, load};
use crate::files::FileServer;
use crate::ganesha::{Export, Ganesha};
use crate::iscsi::Tgt;
use crate::namespace::is_inside;
use crate::run::Ran;
use crate::samba::Samba;
use crate::server::{Server, is_missing};

fn link(state: &str) {
    let set = Command::new("ip").args(["link", "set", "lo", state]).status();
    assert!(set.unwrap().success(), "ip link set lo {state}");
}

/// A load whose link goes down after half a second, and comes back after so much more, or when the load has
/// ended.
fn cut(address: &str, back: Option<Duration>, more: &[&str]) -> Ran {
    std::thread::scope(|scope| {
        let cutting = scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(500));
            link("down");
            if let Some(back) = back {
                std::thread::sleep(back);
                link("up");
            }
        });
        let ran = load(address, more);
        cutting.join().unwrap();
        link("up");
        ran
    })
}

/// What is outstanding is reported, and nothing else has failed.
fn goes_down(address: &str) {
    let ran = cut(address, None, &["--io-timeout=1"]);
    let kind = first_failure(&ran);
    assert_eq!((ran.code, kind), (Some(1), &"timed_out".into()), "{}", ran.errors);
    assert_eq!(ran.span()["outstanding"].as_array().unwrap().len(), 8);
    assert!(ran.sum("read", "ios") > 8 && ran.sum("read", "errors") == 0);
    assert_eq!(ran.span()["outcome"], "interrupted");
    assert!(ran.errors.contains("look at the server"), "{}", ran.errors);
}

#[test]
fn an_nbd_export_behind_a_link_that_goes_down_or_only_flaps() {
    if is_missing() || !is_inside("links::an_nbd_export_behind_a_link_that_goes_down_or_only_flaps")
    {
        return;
    }
    let server = Server::tcp(&["--threads=1"], &["file", "{}/disk"]);
    let address = server.address("").to_string();
    goes_down(&address);
    // TCP sends again what was lost: nothing fails, and the longest I/O has lasted as long as that took.
    let flaps = cut(&address, Some(Duration::from_millis(300)), &["-d2", "--io-timeout=20"]).good();
    assert_eq!(flaps.sum("read", "errors"), 0);
    assert_eq!(flaps.network()["lost_connections"], 0);
}

#[test]
fn a_lun_behind_a_link_that_goes_down() {
    if is_inside("links::a_lun_behind_a_link_that_goes_down")
        && let Some(server) = Tgt::start(|_| {})
    {
        goes_down(&server.address());
    }
}

#[test]
fn a_share_behind_a_link_that_goes_down() {
    if is_inside("links::a_share_behind_a_link_that_goes_down")
        && let Some(server) = Samba::start("", "")
    {
        goes_down(&server.at("disk", server.port).to_string());
    }
}

#[test]
fn an_export_behind_a_link_that_goes_down() {
    if is_inside("links::an_export_behind_a_link_that_goes_down")
        && let Some(server) = Ganesha::start(&Export::default())
    {
        goes_down(&server.at("disk", server.port).to_string());
    }
}
