//! Names of error numbers (`errno(3)`).

/// The name of an error number, such as `EIO`; the number itself if it is none that I/O gives.
#[must_use]
pub fn name(errno: i32) -> String {
    let known = NAMES.iter().find(|(number, _)| *number == errno);
    known.map_or_else(|| format!("error {errno}"), |(_, name)| (*name).to_owned())
}

macro_rules! names {
    ($($name:ident)*) => { &[$((libc::$name, stringify!($name))),*] };
}

/// What reads, writes, syncs and trims of files and devices answer.
const NAMES: &[(i32, &str)] = names! {
    EPERM ENOENT EINTR EIO ENXIO EBADF EAGAIN ENOMEM EACCES EFAULT EBUSY EEXIST EXDEV ENODEV ENOTDIR
    EISDIR EINVAL ENFILE EMFILE ETXTBSY EFBIG ENOSPC ESPIPE EROFS EPIPE EDEADLK ENOLCK ENOSYS ENODATA
    ETIME ENOLINK ECOMM EPROTO EBADMSG EOVERFLOW EILSEQ EOPNOTSUPP ENETDOWN ENETUNREACH ENETRESET
    ECONNABORTED ECONNRESET ENOBUFS ENOTCONN ESHUTDOWN ETIMEDOUT ECONNREFUSED EHOSTDOWN EHOSTUNREACH
    EALREADY EINPROGRESS ESTALE EREMOTEIO EDQUOT ENOMEDIUM EMEDIUMTYPE ECANCELED ENOKEY EKEYREJECTED
    EUCLEAN EBADE
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_their_names() {
        assert_eq!(
            (name(5), name(28), name(107)),
            ("EIO".into(), "ENOSPC".into(), "ENOTCONN".into())
        );
        assert_eq!(name(4095), "error 4095");
    }
}
