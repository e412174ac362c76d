"""Frames come through whole, however the socket cuts them."""

from __future__ import annotations

import struct

import pytest

from bakeoff.engines.host.wire import BadFrame, Frame, Unpacker, packed

FRAMES = [Frame("call", 1, ["encode", ["naïve 東京 🎁"]]), Frame("end", 2), Frame("more", 1, 64)]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 64, 1000])
def test_frames_come_whole_however_they_are_cut(size):
    data = b"".join(packed(frame) for frame in FRAMES)
    unpacker = Unpacker()
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    assert [frame for piece in pieces for frame in unpacker.frames(piece)] == FRAMES


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack(">I", 3) + b"{]}",
        struct.pack(">I", 2) + b"{}",
        struct.pack(">I", 9) + b"[1,1,1]  ",
    ],
)
def test_what_is_no_frame_is_told(data):
    with pytest.raises(BadFrame):
        list(Unpacker().frames(data))
