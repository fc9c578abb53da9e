/**
 * The kernel's names of error numbers, in order. If a number has two names, the first one, but EOPNOTSUPP, which is more usual than ENOTSUP. They are the
 * same on x86-64 and on 64-bit ARM (include/uapi/asm-generic/errno.h). Node's own table does not have some that the driver meets, such as EUSERS.
 */
const NAMES =
  "EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT ENOTBLK EBUSY EEXIST EXDEV ENODEV ENOTDIR EISDIR EINVAL " +
  "ENFILE EMFILE ENOTTY ETXTBSY EFBIG ENOSPC ESPIPE EROFS EMLINK EPIPE EDOM ERANGE EDEADLK ENAMETOOLONG ENOLCK ENOSYS ENOTEMPTY ELOOP E41 ENOMSG EIDRM " +
  "ECHRNG EL2NSYNC EL3HLT EL3RST ELNRNG EUNATCH ENOCSI EL2HLT EBADE EBADR EXFULL ENOANO EBADRQC EBADSLT E58 EBFONT ENOSTR ENODATA ETIME ENOSR ENONET " +
  "ENOPKG EREMOTE ENOLINK EADV ESRMNT ECOMM EPROTO EMULTIHOP EDOTDOT EBADMSG EOVERFLOW ENOTUNIQ EBADFD EREMCHG ELIBACC ELIBBAD ELIBSCN ELIBMAX ELIBEXEC " +
  "EILSEQ ERESTART ESTRPIPE EUSERS ENOTSOCK EDESTADDRREQ EMSGSIZE EPROTOTYPE ENOPROTOOPT EPROTONOSUPPORT ESOCKTNOSUPPORT EOPNOTSUPP EPFNOSUPPORT " +
  "EAFNOSUPPORT EADDRINUSE EADDRNOTAVAIL ENETDOWN ENETUNREACH ENETRESET ECONNABORTED ECONNRESET ENOBUFS EISCONN ENOTCONN ESHUTDOWN ETOOMANYREFS " +
  "ETIMEDOUT ECONNREFUSED EHOSTDOWN EHOSTUNREACH EALREADY EINPROGRESS ESTALE EUCLEAN ENOTNAM ENAVAIL EISNAM EREMOTEIO EDQUOT ENOMEDIUM EMEDIUMTYPE " +
  "ECANCELED ENOKEY EKEYEXPIRED EKEYREVOKED EKEYREJECTED EOWNERDEAD ENOTRECOVERABLE ERFKILL EHWPOISON";

let names: readonly string[] | undefined;

/** `ENOENT` for 2. Unknown numbers become `E<number>`. */
export function errnoName(errno: number): string {
  names ??= NAMES.split(" ");
  return names[errno - 1] ?? `E${errno}`;
}

/** A system call that failed. `code` is the errno's name, as in Node's own errors, so that `errnoOf` and `fromErrno` understand it. */
export class KernelError extends Error {
  override readonly name = "KernelError";
  /** `ENOENT` and the like. */
  readonly code: string;
  /** The positive number of the error. */
  readonly errno: number;
  /** The operation that failed, for example `mount /a`. */
  readonly operation: string;

  constructor(operation: string, errno: number) {
    const code = errnoName(errno);
    super(`${operation}: ${code}`);
    this.code = code;
    this.errno = errno;
    this.operation = operation;
  }
}
