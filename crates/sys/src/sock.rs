//! Local sockets below a directory of ours, reached by a short path however long the real one is,
//! and the pair that guard and host talk over. Only our own uid gets in.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{FileType, Mode, OFlags, fchmod, fstat, openat};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect,
    listen, recv, send, socket_with, socketpair,
};
use rustix::process::geteuid;

use crate::disk::PrivateDir;

/// How many clients may wait to be let in while there is no host.
const WAITING: i32 = 512;

/// Listens on a name below the directory.
///
/// # Errors
/// If the name is taken or the system refuses.
pub fn listen_below(dir: &PrivateDir, name: &str) -> io::Result<OwnedFd> {
    let socket = stream()?;
    // The name gets the mode that the socket has when it is bound, whatever the umask.
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    bind(&socket, &short(dir, &format!("/{name}"))?)?;
    listen(&socket, WAITING)?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    Ok(socket)
}

/// Connects to a name below the directory. A link there is not followed, and whoever listens is of our uid.
///
/// # Errors
/// If nobody listens there who may be spoken to.
pub fn connect_below(dir: &PrivateDir, name: &str) -> io::Result<OwnedFd> {
    let there = openat(dir, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    if !FileType::from_raw_mode(fstat(&there)?.st_mode).is_socket() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no socket"));
    }
    let socket = stream()?;
    // Where too many wait to be let in, nobody waits for a place among them.
    rustix::io::ioctl_fionbio(&socket, true)?;
    connect(&socket, &short(&there, "")?)?;
    if is_ours(&socket) { Ok(socket) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

/// Lets the next client of our uid in; none if there is none.
///
/// # Errors
/// If somebody waits who cannot be let in, for want of descriptors or memory.
pub fn accept(listener: impl AsFd) -> io::Result<Option<OwnedFd>> {
    loop {
        let client = match accept_with(listener.as_fd(), SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Ok(client) => client,
            Err(errno @ (Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM)) => {
                return Err(errno.into());
            }
            Err(_) => return Ok(None),
        };
        if is_ours(&client) {
            return Ok(Some(client));
        }
    }
}

/// Two ends of a line that keeps messages apart.
///
/// # Errors
/// If the system has no descriptors to give.
pub fn line() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?)
}

/// A bell: rung by one process, heard by another as something to read.
///
/// # Errors
/// If the system has no descriptor to give.
pub fn bell() -> io::Result<OwnedFd> {
    Ok(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)
}

/// Rings the bell. One that rings already need not be rung.
pub fn ring(bell: impl AsFd) {
    let _ = rustix::io::write(bell, &1_u64.to_ne_bytes());
}

/// Silences the bell.
pub fn hush(bell: impl AsFd) {
    let _ = rustix::io::read(bell, &mut [0; 8]);
}

/// Sends without ever raising a signal or blocking. None if there is no room now.
///
/// # Errors
/// If the other side is gone.
pub fn put(socket: impl AsFd, bytes: &[u8]) -> io::Result<Option<usize>> {
    match send(socket, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
        Ok(sent) => Ok(Some(sent)),
        Err(Errno::AGAIN | Errno::INTR) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Receives what is there, as much as there is room for, in the place of what it holds. None if nothing is there; zero if
/// the other side is gone. The room is not cleared: a message is mostly a few bytes, and that would take longer than to
/// receive them.
///
/// # Errors
/// If the other side is gone in a hurry.
pub fn take(socket: impl AsFd, into: &mut Vec<u8>) -> io::Result<Option<usize>> {
    into.clear();
    let mut got = recv(socket.as_fd(), spare_capacity(into), RecvFlags::DONTWAIT);
    if got == Err(Errno::CONNRESET) {
        // It died with something unread of ours, which the kernel tells first; what it said before comes after that.
        got = recv(socket.as_fd(), spare_capacity(into), RecvFlags::DONTWAIT);
    }
    match got {
        Ok((got, _)) => Ok(Some(got)),
        Err(Errno::AGAIN | Errno::INTR) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

fn stream() -> io::Result<OwnedFd> {
    Ok(socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?)
}

/// A socket's path may have 107 bytes; through our own descriptor it is always short.
fn short(of: impl AsFd, below: &str) -> io::Result<SocketAddrUnix> {
    let path = format!("/proc/self/fd/{}{below}", of.as_fd().as_raw_fd());
    Ok(SocketAddrUnix::new(path.as_str())?)
}

/// Whether whoever is at the other end has our uid. Its pid is 0 where it is in a pid namespace that we do not see into, which
/// the type that rustix has for it cannot hold.
fn is_ours(socket: &OwnedFd) -> bool {
    let mut peer = libc::ucred { pid: 0, uid: libc::uid_t::MAX, gid: libc::gid_t::MAX };
    let mut length = size_of_val(&peer) as libc::socklen_t;
    // SAFETY: the socket is open, and both pointers are to values that live for the call; the length is that of the first.
    let told = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut length,
        )
    };
    told == 0 && length as usize == size_of_val(&peer) && peer.uid == geteuid().as_raw()
}
