"""Makes every attempt of the rows in the file that is named, with each client that can make it: curl, Go's program and Node beside this one, and Python
itself, with sockets and raw ones. Prints the verdicts of all clients as JSON."""
import concurrent.futures, http.client, json, os, shutil, socket, ssl, struct, subprocess, sys

LIMIT = 20
HERE = os.path.dirname(os.path.abspath(__file__))
with open(sys.argv[1]) as file:
    ROWS = json.load(file)
GATEWAY = next(line.split()[1] for line in open("/etc/resolv.conf") if line.startswith("nameserver"))


def web(row, tls):
    connection = http.client.HTTPConnection(row["host"], 443 if tls else 80, timeout=LIMIT)
    connection.sock = socket.create_connection((row.get("at") or row["host"], connection.port), LIMIT)
    if tls:
        connection.sock = ssl.create_default_context().wrap_socket(connection.sock, server_hostname=row["host"])
    connection.request("GET", "/", headers={"Host": row["host"]})
    return connection.getresponse().read().decode()


def tcp(row):
    with socket.create_connection((row["at"], 7000), LIMIT) as s:
        return s.recv(64).decode()


def datagram(row, port, payload=b"hello"):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(LIMIT)
        s.connect((row.get("at") or GATEWAY, port))
        s.send(payload)
        return s.recv(512)


def question(row):
    name = b"".join(bytes([len(label)]) + label.encode() for label in row["host"].split("."))
    return struct.pack(">HHHHHH", 7, 256, 1, 0, 0, 0) + name + b"\0" + struct.pack(">HH", 1, 1)


def address(answer):
    """The last four bytes of an answer that has one address; else `no`, as for a refusal."""
    return socket.inet_ntoa(answer[-4:]) if answer[3] & 15 == 0 and answer[7] == 1 else "no"


def framed(row):
    with socket.create_connection((row.get("at") or GATEWAY, 53), LIMIT) as s:
        asked = question(row)
        s.sendall(struct.pack(">H", len(asked)) + asked)
        stream = s.makefile("rb")
        return stream.read(struct.unpack(">H", stream.read(2))[0])


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


def ping(row):
    """By a raw socket: an echo request, made by hand. What is refused is told on such a socket as a message of its own."""
    mark = os.urandom(8)
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as s:
        s.settimeout(LIMIT)
        body = struct.pack(">BBHHH", 8, 0, 0, 1, 1) + mark
        s.sendto(body[:2] + struct.pack(">H", checksum(body)) + body[4:], (row["at"], 0))
        while True:
            data = s.recv(1500)
            if mark in data and data[20] == 0:
                return "echo"
            if mark in data and data[20] == 3:
                return "no"


ATTEMPTS = {
    "http": lambda row: web(row, False),
    "https": lambda row: web(row, True),
    "tcp": tcp,
    "udp": lambda row: datagram(row, 7000).decode(),
    "quic": lambda row: datagram(row, 443).decode(),
    "dns-udp": lambda row: address(datagram(row, 53, question(row))),
    "dns-tcp": lambda row: address(framed(row)),
    "ping": ping,
}


def attempt(row):
    try:
        return ATTEMPTS[row["kind"]](row) or "no"
    except (OSError, http.client.HTTPException, struct.error):
        return "no"


def by_curl():
    """All in one process: settings for each attempt on its standard input, and a file for each answer."""
    rows = [row for row in ROWS if row["kind"] in ("http", "https")]
    shutil.rmtree("/tmp/answers", ignore_errors=True)
    os.mkdir("/tmp/answers")
    parts = []
    for row in rows:
        led = f'connect-to = "{row["host"]}::{row["at"]}:"\n' if row.get("at") else ""
        parts.append(f'url = "{row["kind"]}://{row["host"]}/"\noutput = "/tmp/answers/{row["id"]}"\n{led}silent\nmax-time = {LIMIT}\n')
    subprocess.run(["curl", "-q", "--parallel", "--config", "-"], input="next\n".join(parts).encode())
    read = lambda path: open(path).read() if os.path.exists(path) else ""
    return {row["id"]: read(f"/tmp/answers/{row['id']}") or "no" for row in rows}


def by_program(*argv):
    return json.loads(subprocess.run([*argv, sys.argv[1]], stdout=subprocess.PIPE, check=True).stdout)


with concurrent.futures.ThreadPoolExecutor(64) as pool:
    others = {
        "curl": pool.submit(by_curl),
        "go": pool.submit(by_program, f"{HERE}/network", "probe"),
        "node": pool.submit(by_program, "node", f"{HERE}/probe.mjs"),
    }
    python = dict(zip([row["id"] for row in ROWS], pool.map(attempt, ROWS)))
    print(json.dumps({"python": python, **{name: future.result() for name, future in others.items()}}))
