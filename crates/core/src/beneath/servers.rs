//! Which processes of this host serve a target: by FUSE, as a device of user mode, or over the network that
//! leads back to this host. Their CPU time is a part of each I/O.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use fathom_sys::device::mounts::Mount;

use super::layers::Layers;
use super::processes::ProcessTime;
use crate::tree::{Tree, field};

/// Of more processes it is not asked what they serve: those that used most come first.
const ASKED_MOST: usize = 8;
/// Ports of file systems of the network, by the first letters of their type.
const PORTS: [(&str, u16); 4] = [("nfs", 2049), ("cifs", 445), ("smb", 445), ("9p", 564)];

/// Who answers the I/Os of a layer, as far as it may be a process of this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Server {
    /// Who has this connection of FUSE.
    Fuse(u64),
    /// Who has this device open.
    Device(PathBuf),
    /// Who has this port of a host.
    Port(String, u16),
    /// Who has the socket of this path.
    Socket(PathBuf),
}

/// A process that serves a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Serving {
    /// Its number.
    pub pid: u32,
    /// The target, as a position.
    pub target: usize,
    /// Whether that is certain: others may serve the same kind of target.
    pub is_certain: bool,
}

impl Server {
    /// Of a mount, by its line of `mountinfo`.
    pub(super) fn of_mount(mount: &Mount) -> Option<Self> {
        let kind = mount.file_system.as_str();
        if kind == "fuse" || kind == "fuseblk" || kind.starts_with("fuse.") {
            // The number of a connection is that of the device of its file system (fs/fuse/control.c).
            let (major, minor) = mount.number;
            return Some(Self::Fuse(u64::from(major) << 20 | u64::from(minor)));
        }
        let (_, port) = PORTS.iter().find(|(name, _)| kind.starts_with(name))?;
        let option = |name: &str| {
            let mut options = mount.options.split(',');
            options.find_map(|one| one.strip_prefix(name)?.strip_prefix('='))
        };
        // NFS writes 0 where the port is the usual one.
        let told = option("port").and_then(|text| text.parse().ok()).filter(|told| *told > 0);
        let port = told.unwrap_or(*port);
        let source = mount.source.trim_start_matches('/');
        let named = || source.split([':', '/']).next().filter(|name| !name.is_empty());
        Some(Self::Port(option("addr").or_else(named)?.to_owned(), port))
    }

    /// By the words for a server: a host with a port, or the path of a socket.
    pub(super) fn of_words(server: &str) -> Option<Self> {
        if server.starts_with('/') {
            return Some(Self::Socket(server.into()));
        }
        let (host, port) = server.rsplit_once(':')?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        Some(Self::Port(host.to_owned(), port.parse().ok()?))
    }

    /// Of a block device of this name whose directory is `directory`.
    pub(super) fn of_device(tree: &Tree, name: &str, directory: &str) -> Option<Self> {
        if let Some(number) = name.strip_prefix("ublkb") {
            let number = number.split('p').next()?;
            return Some(Self::Device(format!("/dev/ublkc{number}").into()));
        }
        let session = directory.split('/').find_map(|part| part.strip_prefix("session"))?;
        let connection = format!("sys/class/iscsi_connection/connection{session}:0");
        let text = |name: &str| tree.text(&format!("{connection}/{name}"));
        Some(Self::Port(text("address")?, text("port")?.parse().ok()?))
    }

    /// Whether a process is this server; nothing if it is not, or does not show what it has open.
    fn is(&self, open: &Open<'_>) -> Option<bool> {
        match self {
            Self::Fuse(connection) => open.serves_fuse(*connection),
            Self::Device(path) => open.has(path).then_some(true),
            Self::Port(host, port) => {
                let is_here = is_here(open.tree, host);
                let may_be = is_here.unwrap_or(true) && open.has_port(*port);
                may_be.then_some(is_here.is_some())
            }
            Self::Socket(path) => open.has_socket(path).then_some(true),
        }
    }
}

/// What the processes serve that used most.
pub(super) fn among(tree: &Tree, layers: &Layers, processes: &[ProcessTime]) -> Vec<Serving> {
    if layers.all.iter().all(|layer| layer.server.is_none()) {
        return Vec::new();
    }
    let asked = processes.iter().filter(|one| !one.is_kernel).take(ASKED_MOST);
    asked.flat_map(|one| served_by(&Open::of(tree, one.pid), layers)).collect()
}

/// What a process serves: it is asked of each layer once, however many targets lie on it.
fn served_by(open: &Open<'_>, layers: &Layers) -> Vec<Serving> {
    let serves: Vec<Option<bool>> =
        layers.all.iter().map(|layer| layer.server.as_ref()?.is(open)).collect();
    let serving = |target| {
        let is_certain =
            layers.beneath(target).into_iter().filter_map(|layer| serves[layer]).max()?;
        Some(Serving { pid: open.pid, target, is_certain })
    };
    (0..layers.nearest.len()).filter_map(serving).collect()
}

/// What a process has open.
struct Open<'a> {
    tree: &'a Tree,
    pid: u32,
    /// Its files by their numbers.
    files: Vec<(String, PathBuf)>,
}

impl<'a> Open<'a> {
    fn of(tree: &'a Tree, pid: u32) -> Self {
        let folder = format!("proc/{pid}/fd");
        let link = |name: String| {
            let leads_to = fs::read_link(tree.path(&format!("{folder}/{name}"))).ok()?;
            Some((name, leads_to))
        };
        let files = tree.names(&folder).into_iter().filter_map(link).collect();
        Self { tree, pid, files }
    }

    fn has(&self, path: &Path) -> bool {
        self.files.iter().any(|(_, file)| file == path)
    }

    /// Newer kernels tell whose connection a file of FUSE is (`fuse_dev_show_fdinfo` of fuse/dev.c).
    fn serves_fuse(&self, connection: u64) -> Option<bool> {
        let of_fuse = self.files.iter().filter(|(_, file)| file == Path::new("/dev/fuse"));
        let told = |(name, _): &(String, PathBuf)| {
            let text = self.tree.text(&format!("proc/{}/fdinfo/{name}", self.pid))?;
            field(&text, "fuse_connection")?.parse::<u64>().ok()
        };
        let connections: Vec<Option<u64>> = of_fuse.map(told).collect();
        if connections.contains(&Some(connection)) {
            return Some(true);
        }
        connections.contains(&None).then_some(false)
    }

    fn has_inode(&self, inode: &str) -> bool {
        self.has(Path::new(&format!("socket:[{inode}]")))
    }

    /// Whether it has a socket with this port of its own (`proc_net_tcp.rst` of the kernel).
    fn has_port(&self, port: u16) -> bool {
        let wanted = format!("{port:04X}");
        let is_it = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let own = words.get(1).and_then(|address| address.rsplit(':').next());
            own == Some(wanted.as_str()) && words.get(9).is_some_and(|inode| self.has_inode(inode))
        };
        let table = |name: &str| self.tree.text(&format!("proc/{}/net/{name}", self.pid));
        ["tcp", "tcp6"].into_iter().filter_map(table).any(|text| text.lines().any(is_it))
    }

    fn has_socket(&self, path: &Path) -> bool {
        let is_it = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.get(7).is_some_and(|word| Path::new(word) == path)
                && words.get(6).is_some_and(|inode| self.has_inode(inode))
        };
        let text = self.tree.text(&format!("proc/{}/net/unix", self.pid)).unwrap_or_default();
        text.lines().any(is_it)
    }
}

/// Whether a host is this one; nothing if its name does not tell.
fn is_here(tree: &Tree, host: &str) -> Option<bool> {
    if host == "localhost" {
        return Some(true);
    }
    let address: IpAddr = host.parse().ok()?;
    Some(address.is_loopback() || is_own(tree, address))
}

/// Whether an address is one of this host's.
fn is_own(tree: &Tree, address: IpAddr) -> bool {
    let text = |name: &str| tree.text(&format!("proc/self/net/{name}")).unwrap_or_default();
    match address {
        IpAddr::V4(address) => {
            let (routes, wanted) = (text("fib_trie"), format!("|-- {address}"));
            let lines = || routes.lines().map(str::trim);
            let mut pairs = lines().zip(lines().skip(1));
            pairs.any(|(leaf, kind)| leaf == wanted && kind == "/32 host LOCAL")
        }
        IpAddr::V6(address) => {
            let wanted = format!("{:032x}", u128::from(address));
            text("if_inet6").lines().any(|line| line.split(' ').next() == Some(wanted.as_str()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fake::Fake;
    use super::*;

    fn server_of(line: &str) -> Option<Server> {
        let text = format!("30 1 {line}\n");
        Server::of_mount(&fathom_sys::device::mounts::parse(&text)[0])
    }

    #[test]
    fn a_mount_tells_who_serves_it() {
        let port = |host: &str, port| Some(Server::Port(host.to_owned(), port));
        let known = [
            ("0:41 / /m rw - fuse.sshfs me@host: rw", Some(Server::Fuse(41))),
            ("8:17 / /m rw - fuseblk /dev/sdb1 rw", Some(Server::Fuse((8 << 20) + 17))),
            ("0:42 / /m rw - nfs4 nas:/a rw,vers=4.2,port=0,addr=10.0.0.5", port("10.0.0.5", 2049)),
            ("0:42 / /m rw - nfs nas:/a rw,vers=3", port("nas", 2049)),
            ("0:43 / /m rw - cifs //nas/share rw,addr=127.0.0.1", port("127.0.0.1", 445)),
            ("8:1 / / rw - ext4 /dev/sda1 rw", None),
        ];
        for (line, server) in known {
            assert_eq!(server_of(line), server, "{line}");
        }
        assert_eq!(Server::of_words("[::1]:10809"), port("::1", 10_809));
        assert_eq!(Server::of_words("/run/x.sock"), Some(Server::Socket("/run/x.sock".into())));
    }

    fn is(fake: &Fake, server: &Server) -> Option<bool> {
        server.is(&Open::of(&Tree::new(&fake.path("")), 7))
    }

    #[test]
    fn a_process_serves_fuse_by_its_connection_or_perhaps_where_the_kernel_does_not_tell() {
        let fake = Fake::new();
        assert_eq!(is(&fake, &Server::Fuse(41)), None);
        fake.link("proc/7/fd/3", Path::new("/dev/fuse"));
        fake.write("proc/7/fdinfo/3", "pos:\t0\nflags:\t02\n");
        assert_eq!(is(&fake, &Server::Fuse(41)), Some(false));
        fake.write("proc/7/fdinfo/3", "pos:\t0\nfuse_connection:\t41\n");
        assert_eq!(is(&fake, &Server::Fuse(41)), Some(true));
        assert_eq!(is(&fake, &Server::Fuse(42)), None);
    }

    /// A line of `/proc/net/tcp` of a socket with this port of its own.
    fn socket(port: u16, inode: u32) -> String {
        format!("  0: 0100007F:{port:04X} 00000000:0000 0A 0:0 00:0 00000000 0 0 {inode} 1 ff 100")
    }

    #[test]
    fn a_process_serves_a_port_of_this_host_and_of_no_other() {
        let fake = Fake::new();
        let port = |host: &str, port| Server::Port(host.to_owned(), port);
        fake.link("proc/7/fd/4", Path::new("socket:[99]"));
        fake.write("proc/7/net/tcp", &format!("  sl  local_address\n{}\n", socket(2049, 99)));
        let trie =
            "Local:\n  |-- 10.0.0.5\n     /32 host LOCAL\n  |-- 10.0.0.0\n     /24 link UNICAST\n";
        fake.write("proc/self/net/fib_trie", trie);
        for (host, expected) in [
            ("127.0.0.1", Some(true)),
            ("localhost", Some(true)),
            ("10.0.0.5", Some(true)),
            ("10.0.0.0", None),
            ("10.0.0.6", None),
            ("nas", Some(false)),
        ] {
            assert_eq!(is(&fake, &port(host, 2049)), expected, "{host}");
        }
        assert_eq!(is(&fake, &port("127.0.0.1", 445)), None);
        fake.write("proc/7/net/tcp", &socket(2049, 98));
        assert_eq!(is(&fake, &port("127.0.0.1", 2049)), None, "it is another's");
    }

    #[test]
    fn devices_and_sockets_are_served_by_who_has_them_open() {
        let fake = Fake::new();
        let tree = Tree::new(&fake.path(""));
        let ublk = Server::of_device(&tree, "ublkb3p1", "sys/devices/virtual/block/ublkb3");
        assert_eq!(ublk, Some(Server::Device("/dev/ublkc3".into())));
        fake.link("proc/7/fd/5", Path::new("/dev/ublkc3"));
        assert_eq!(is(&fake, &ublk.unwrap()), Some(true));
        fake.write("sys/class/iscsi_connection/connection2:0/address", "127.0.0.1\n");
        fake.write("sys/class/iscsi_connection/connection2:0/port", "3260\n");
        let place = "sys/devices/platform/host1/session2/target1:0:0/1:0:0:1/block/sdc";
        let expected = Server::Port("127.0.0.1".to_owned(), 3260);
        assert_eq!(Server::of_device(&tree, "sdc", place), Some(expected));
        assert_eq!(Server::of_device(&tree, "sda", "sys/devices/pci0/ata1/block/sda"), None);
        fake.link("proc/7/fd/6", Path::new("socket:[77]"));
        let line = "ffff: 00000002 00000000 00010000 0001 01 77 /run/x.sock";
        fake.write("proc/7/net/unix", line);
        assert_eq!(is(&fake, &Server::Socket("/run/x.sock".into())), Some(true));
        assert_eq!(is(&fake, &Server::Socket("/run/y.sock".into())), None);
    }
}
