/**
 * A Python program that tries every option of a socket for which the kernel takes the network lock of the whole machine, and prints what each came to.
 * The requests are for 224.0.0.251 and ff02::fb on the loopback link.
 */
export const JOIN_GROUPS = `
import errno, socket, struct
group, lo = socket.inet_aton("224.0.0.251"), socket.inet_aton("127.0.0.1")
group6 = socket.inet_pton(socket.AF_INET6, "ff02::fb"); one = struct.pack("I", 1)
address = struct.pack("HH", 2, 0) + group + bytes(120); request = struct.pack("I4x", 1) + address
udp, udp6 = [socket.socket(family, socket.SOCK_DGRAM) for family in (socket.AF_INET, socket.AF_INET6)]
def attempt(s, level, options, value):
    for option in options:
        try: s.setsockopt(level, option, value); print("done", level, option)
        except OSError as error: print(errno.errorcode[error.errno], level, option)
attempt(udp, 0, [35, 36], group + lo); attempt(udp, 0, [37, 38, 39, 40, 41], group + lo + lo)
attempt(udp, 0, range(42, 49), request + address); attempt(udp, 0, range(200, 213), one)
attempt(udp6, 41, [20, 21, 27, 28], group6 + one); attempt(udp6, 41, [*range(42, 49), 1, 22, *range(200, 211)], request + address)
attempt(socket.socket(socket.AF_PACKET, socket.SOCK_RAW), 263, [1, 2], struct.pack("iHH8x", 1, 1, 0))
udp.setsockopt(0, 33, 1); udp.setsockopt(0, 34, 1); udp.setsockopt(0, 32, lo); print("sends")
`;
