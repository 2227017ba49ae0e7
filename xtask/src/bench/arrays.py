"""What one would write without kymo: arrays.py copy|link IN.bp OUT.h5."""

import mmap
import os
import struct
import sys

import h5py
import numpy as np


def elements(data):
    """The path, the shape and the first byte of each dataset of doubles."""
    at = 0
    while at < len(data):
        length, _, name_bytes = struct.unpack_from("<3i", data, at)
        place = at + 12
        name = data[place : place + name_bytes].decode()
        place += name_bytes
        _, path_bytes = struct.unpack_from("<2i", data, place)
        path = data[place + 8 : place + 8 + path_bytes].decode()
        place += 8 + path_bytes
        _, _, rank = struct.unpack_from("<3i", data, place)
        shape = tuple(struct.unpack_from("<i", data, place + 12 + 12 * d)[0] for d in range(rank))
        yield f"{path}/{name}", shape, place + 16 + 12 * rank
        at += length


def main(how, source, output):
    with open(source, "rb") as file, h5py.File(output, "w") as out:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        for path, shape, offset in elements(data):
            count = int(np.prod(shape))
            if how == "link":
                where = [(os.path.abspath(source), offset, count * 8)]
                out.create_dataset(path, shape, "<f8", external=where)
            else:
                out.create_dataset(path, data=np.frombuffer(data, "<f8", count, offset).reshape(shape))
    with open(output, "rb") as file:
        os.fsync(file.fileno())


if __name__ == "__main__":
    main(*sys.argv[1:])
