//! The network of a session that has one of its own: a loopback, and on it a listening socket for
//! each thing outside that the session reaches. The sockets are handed to Spore, which alone
//! accepts what comes and connects it.
//!
//! All of it is done by the session's first process, which may do anything in that network until it
//! has given up its privileges.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use nix::libc;

use super::HandedFile;
use super::mounts::{Made, SandboxRefusal};
use super::reach::{FoundAt, Reached, places};

/// How many sockets can be handed over at once, with some room: the kernel lets 253 travel together.
const MOST_LISTENERS: usize = 240;

/// Brings up the loopback and listens for what is reached.
pub(super) fn open(reach: &[Reached]) -> Made<Vec<(HandedFile, OwnedFd)>> {
    raise_loopback()?;
    let mut given = Vec::new();
    let mut listeners = Vec::new();
    let places = places(reach);
    if places.len() > MOST_LISTENERS {
        let step = format!("listen at {} addresses, more than {MOST_LISTENERS}", places.len());
        return Err(SandboxRefusal { step, errno: libc::E2BIG });
    }
    for found in places {
        let ip = found.at.ip();
        if found.is_foreign() && !given.contains(&ip) {
            give_address(ip, given.len())?;
            given.push(ip);
        }
        listeners.extend(listen(&found)?);
    }
    Ok(listeners)
}

fn listen(found: &FoundAt) -> Made<Option<(HandedFile, OwnedFd)>> {
    let listener = TcpListener::bind(found.at)
        .and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
    match listener {
        Ok(listener) => {
            Ok(Some((HandedFile::Listener { reached: found.reached }, listener.into())))
        }
        // A kernel without IPv6 has nothing there outside either.
        Err(error) if found.at.is_ipv6() && is_without_v6(&error) => Ok(None),
        Err(error) => Err(SandboxRefusal::new(format!("listen at {}", found.at), &error)),
    }
}

fn is_without_v6(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAFNOSUPPORT | libc::EADDRNOTAVAIL))
}

fn socket(family: libc::c_int) -> Made<OwnedFd> {
    #[expect(unsafe_code, reason = "nix makes sockets for connections alone")]
    // SAFETY: the kernel makes a descriptor, for us alone.
    unsafe {
        let socket = libc::socket(family, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return Err(SandboxRefusal::last("open a socket"));
        }
        Ok(OwnedFd::from_raw_fd(socket as RawFd))
    }
}

/// A request about the loopback device, or about the name by which it has a further address.
#[expect(unsafe_code, reason = "a structure of the kernel's, with unions")]
fn request_for(device: &str) -> libc::ifreq {
    // SAFETY: the structure is numbers alone, and all of them may be zero.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(device.bytes()) {
        *place = byte as libc::c_char;
    }
    request
}

#[expect(unsafe_code, reason = "nix has no wrapper for these requests")]
fn ask<T>(socket: &OwnedFd, what: libc::c_ulong, request: &T, step: &str) -> Made<()> {
    // SAFETY: the kernel reads one structure, which outlives the call.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), what as _, std::ptr::from_ref(request)) };
    if done < 0 { Err(SandboxRefusal::last(step)) } else { Ok(()) }
}

fn raise_loopback() -> Made<()> {
    let mut request = request_for("lo");
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    ask(&socket(libc::AF_INET)?, libc::SIOCSIFFLAGS, &request, "raise the loopback")
}

/// Gives the loopback device an address that is not its own, so that a socket can listen there.
fn give_address(ip: IpAddr, number: usize) -> Made<()> {
    let step = format!("give the loopback {ip}");
    match ip {
        IpAddr::V4(ip) => {
            let mut request = request_for(&format!("lo:{number}"));
            let asker = socket(libc::AF_INET)?;
            // Alone: a network around it would be reached too, as far as the session can tell.
            for (what, ip) in [(libc::SIOCSIFADDR, ip), (libc::SIOCSIFNETMASK, Ipv4Addr::BROADCAST)]
            {
                request.ifr_ifru.ifru_addr = socket_address(ip);
                ask(&asker, what, &request, &step)?;
            }
            Ok(())
        }
        IpAddr::V6(ip) => {
            /// The number of the device in every network: `LOOPBACK_IFINDEX` of the kernel.
            const LOOPBACK: libc::c_int = 1;
            let Ok(asker) = socket(libc::AF_INET6) else { return Ok(()) };
            let request = libc::in6_ifreq {
                ifr6_addr: libc::in6_addr { s6_addr: Ipv6Addr::octets(&ip) },
                ifr6_prefixlen: 128,
                ifr6_ifindex: LOOPBACK,
            };
            ask(&asker, libc::SIOCSIFADDR, &request, &step)
        }
    }
}

/// An IPv4 address as requests about devices carry it.
fn socket_address(ip: Ipv4Addr) -> libc::sockaddr {
    let mut data = [0; 14];
    // After two bytes for a port, which a device has not.
    for (place, byte) in data.iter_mut().skip(2).zip(ip.octets()) {
        *place = byte as libc::c_char;
    }
    libc::sockaddr { sa_family: libc::AF_INET as libc::sa_family_t, sa_data: data }
}
