"""Ways to feed a framer, and AWS messages to feed it with."""

import struct
import zlib
from itertools import pairwise

from chunkfold.framing import Frame, Framer


def frames_of(*reads, frame_bytes=64 << 20):
    """All frames of a stream that comes in these reads."""
    return outcome(reads, frame_bytes=frame_bytes)[0]


def outcome(reads, frame_bytes=64 << 20):
    """Frames, framing, whether the array was closed, and the breach as text."""
    framer = Framer(frame_bytes)
    frames = []
    for read in reads:
        frames += framer.feed(read)
    frames += framer.close()
    return frames, framer.framing, framer.closed_array, str(framer.breach)


def bytewise(data):
    return [data[at : at + 1] for at in range(len(data))]


def cut_at(data, cuts):
    edges = [0, *sorted({cut % (len(data) + 1) for cut in cuts}), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


def assert_frames(data, *expected, framing=...):
    """*data* gives these frames, whole and byte by byte. Plain bytes stand for a data frame without a name."""
    wanted = [frame if isinstance(frame, Frame) else Frame(frame) for frame in expected]
    whole = outcome([data])
    assert whole[0] == wanted
    assert outcome(bytewise(data)) == whole
    if framing is not ...:
        assert whole[1] == framing


def comment(text):
    return Frame(text, kind="comment")


def stray(text, cut=False):
    return Frame(text, kind="stray", cut=cut)


def cut(text, event=""):
    return Frame(text, event, cut=True)


def aws_header(name, value):
    """One header; the Python type of *value* decides the header's."""
    key = name.encode()
    head = bytes([len(key)]) + key
    if isinstance(value, bool):
        return head + bytes([0 if value else 1])
    if isinstance(value, str):
        raw = value.encode()
        return head + b"\x07" + struct.pack(">H", len(raw)) + raw
    if isinstance(value, tuple):
        kind, raw = value
        return head + bytes([kind]) + raw
    return head + b"\x06" + struct.pack(">H", len(value)) + value


def aws_message(headers, payload=b""):
    """A whole message with right checksums."""
    block = b"".join(aws_header(name, value) for name, value in headers.items())
    return aws_raw(block, payload)


def aws_raw(block, payload=b"", headers_length=None):
    prelude = struct.pack(
        ">II", 16 + len(block) + len(payload), len(block) if headers_length is None else headers_length
    )
    prelude += struct.pack(">I", zlib.crc32(prelude))
    message = prelude + block + payload
    return message + struct.pack(">I", zlib.crc32(message))


def aws_event(name, payload):
    return aws_message({":event-type": name, ":content-type": "application/json", ":message-type": "event"}, payload)
