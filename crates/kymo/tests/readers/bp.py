"""Reads BP files by the specification alone, for comparing conversions with their source.

It shares nothing with the reader in Rust, and is as plain as can be: it holds whole files.
"""

import struct
from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

NAMES = {2: "dataset", 3: "scalar", 7: "attribute", 8: "attribute", 9: "group attribute", 10: "group attribute"}
SIGNED = {0: 1, 1: 2, 2: 4, 3: 4, 4: 8}
UNSIGNED = {8: 8, 50: 1, 51: 2, 52: 4, 53: 4, 54: 8}
KNOWN = {*SIGNED, *UNSIGNED, 5, 6, 7, 9, 10, 11}


@dataclass
class Element:
    kind: str
    name: str
    path: str = ""
    code: int = -1
    dims: list | None = None
    data: bytes = b""
    is_rounded: bool = False
    is_latin1: bool = False  # its name or its path


@dataclass
class Variable:
    path: str
    code: int
    steps: list = field(default_factory=list)
    missing: list = field(default_factory=list)  # by step, how many values are not in the file
    is_rounded: bool = False
    is_latin1: bool = False


def elements(data, order):
    at = 0
    while at + 4 <= len(data):
        (length,) = struct.unpack_from(order + "i", data, at)
        if length < 12:
            return
        yield element(data[at + 4 : at + length], order)
        at += length


def element(data, order):
    word = lambda at: struct.unpack_from(order + "i", data, at)[0]
    at, found = 0, Element("", "")
    while at + 8 <= len(data):
        tag, length = word(at), word(at + 4)
        at += 8
        if tag in NAMES:
            found.kind, found.name = NAMES[tag], decoded(data[at : at + length])
            found.is_latin1 |= is_latin1(data[at : at + length])
            at += length
        elif tag == 4:
            found.path = decoded(data[at : at + length])
            found.is_latin1 |= is_latin1(data[at : at + length])
            at += length
        elif tag == 5:
            found.code, found.data = word(at), data[at + 4 : at + 4 + length]
            at += 4 + length
        elif tag == 6:
            rank = word(at)
            found.dims = [struct.unpack_from(order + "3i", data, at + 4 + 12 * i) for i in range(rank)]
            at += 4 + 12 * rank
            found.code, found.data = word(at), data[at + 4 : at + 4 + length]
            return found
        else:
            return found
    return found


def decoded(data):
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def is_latin1(data):
    try:
        data.decode("utf-8")
        return False
    except UnicodeDecodeError:
        return True


def normal(*parts):
    return "/" + "/".join(p for part in parts for p in part.split("/") if p)


def values(code, data, count, order):
    """So many values of a datatype; nothing where they are not in the file."""
    if code == 9:
        size = len(data) // count if count else 0
        if count and not data and count != 1:
            return None
        return np.array([data[i * size : (i + 1) * size] for i in range(count)], dtype=object)
    size = len(data) // count if count else {**SIGNED, **UNSIGNED, 5: 4, 6: 8}.get(code, 16)
    if code == 7:
        return long_doubles(data, order).astype("f8")
    if code in (10, 11):
        return np.frombuffer(data, order + ("c8" if size == 8 else "c16"))
    if code in (5, 6):
        return np.frombuffer(data, order + ("f4" if code == 5 else "f8"))
    if code in SIGNED or code in UNSIGNED:
        return np.frombuffer(data, f"{order}{'i' if code in SIGNED else 'u'}{size}")
    return np.frombuffer(data, np.uint8).reshape(count, -1)


def read(path, storage="c"):
    """The variables of a file, and its attributes: what, path, name, value, whether Latin-1."""
    data = open(path, "rb").read()
    is_big = len(data) >= 8 and struct.unpack_from("<i", data, 4)[0] > 99
    order = ">" if is_big else "<"
    groups, attributes = defaultdict(list), []
    for e in elements(data, order):
        if "attribute" in e.kind:
            value = decoded(e.data) if e.code == 9 else values(e.code, e.data, 1, order)[0]
            is_text = e.code == 9 and is_latin1(e.data)
            attributes.append((e.kind, normal(e.path), e.name, value, e.is_latin1 or is_text))
        elif e.kind:
            lengths = None if e.dims is None else [d[0] for d in e.dims]
            count = 1 if lengths is None else int(np.prod(lengths, dtype=int))
            found = values(e.code, e.data, count, order)
            e.is_rounded = e.code == 7 and rounds(e.data, order)
            is_global = e.dims is not None and any(d[1] for d in e.dims)
            size = 0 if found is None or not len(found) else found[0:1].nbytes
            rank = None if e.dims is None else len(e.dims)
            size = 0 if e.code == 9 else size or -e.code
            key = (normal(e.path, e.name), e.code, size, is_global, rank, e.is_latin1)
            groups[key].append((e, lengths, found))
    return [variable(key, members, storage[0].upper()) for key, members in groups.items()], attributes


def variable(key, members, storage):
    made = Variable(key[0], key[1])
    made.is_latin1 = key[5]
    made.is_rounded = any(e.is_rounded for e, _, _ in members)
    if not key[3]:
        for _, lengths, found in members:
            made.steps.append(shaped(found, lengths, storage))
            made.missing.append(made.steps[-1].size if found is None else 0)
        return made
    seen = defaultdict(int)
    for e, lengths, found in members:
        place = tuple(d[2] for d in e.dims)
        step = seen[place]
        seen[place] += 1
        while len(made.steps) <= step:
            fill = np.nan if found.dtype.kind in "fc" else 0
            made.steps.append(np.full([d[1] for d in e.dims], fill, found.dtype))
            made.missing.append(made.steps[-1].size)
        box = tuple(slice(d[2], d[2] + d[0]) for d in e.dims)
        made.steps[step][box] = found.reshape(lengths, order=storage)
        made.missing[step] -= found.size
    return made


def long_doubles(data, order):
    """Those of x87, 80 bits in 16 bytes."""
    swapped = b"".join(data[i : i + 16][:: 1 if order == "<" else -1] for i in range(0, len(data), 16))
    return np.frombuffer(swapped, np.longdouble)


def rounds(data, order):
    """Whether long doubles are finer than doubles can be."""
    whole = long_doubles(data, order)
    return bool(((whole != whole.astype("f8")) & (whole == whole)).any())


def shaped(found, lengths, storage):
    if found is None:
        return np.full(lengths, b"", dtype=object)
    if lengths is None:
        return found.reshape(found.shape[1:])
    if found.ndim > 1:
        return found.reshape(list(lengths) + list(found.shape[1:]))
    return found.reshape(lengths, order=storage)
