"""Compares what kymo converted with its source: compare.py JOBS.

JOBS has a JSON object a line: reader, order, source, output, and report, which is what `kymo
convert --json` printed. Whatever is not as in the source must be in the report.
"""

import json
import re
import sys
import warnings

import numpy as np

import bp
import stored

warnings.simplefilter("ignore")


def expected(variable, order):
    """The arrays that a variable becomes: a suffix of the path, and values."""
    steps = [s.transpose() if order == "fortran" else s for s in variable.steps]
    if len(steps) == 1:
        return {"": steps[0]}
    if len({s.shape for s in steps}) == 1:
        return {"": np.stack(steps)}
    digits = len(str(len(steps) - 1))
    return {f"/{n:0{digits}}": s for n, s in enumerate(steps)}


def same(found, wanted, what):
    if wanted.dtype == object:
        texts = [text(v) for v in np.asarray(found, dtype=object).ravel()]
        assert np.shape(found) == wanted.shape, f"{what}: shape {np.shape(found)}, not {wanted.shape}"
        assert texts == [text(v) for v in wanted.ravel()], f"{what}: {texts}"
        return
    found = np.asarray(found)
    kinds = (found.dtype.kind, found.dtype.itemsize)
    assert kinds == (wanted.dtype.kind, wanted.dtype.itemsize), f"{what}: {found.dtype}, not {wanted.dtype}"
    assert found.shape == wanted.shape, f"{what}: shape {found.shape}, not {wanted.shape}"
    assert np.array_equal(found, wanted, equal_nan=found.dtype.kind in "fc"), f"{what}: values differ"


def text(value):
    value = value.encode() if isinstance(value, str) else bytes(value)
    return value.rstrip(b"\0").decode("utf-8", "replace")


def same_attribute(found, wanted, what):
    if isinstance(wanted, str):
        assert text(found) == wanted, f"{what}: {found!r}, not {wanted!r}"
    elif isinstance(wanted, np.ndarray):
        assert list(np.ravel(found)) == list(wanted), f"{what}: {found!r}"
    else:
        is_same = found == wanted or (found != found and wanted != wanted)
        assert is_same, f"{what}: {found!r}, not {wanted!r}"


def compare(reader, order, source, output, report):
    variables, attributes = bp.read(source, order)
    arrays, found_attributes = getattr(stored, reader)(output)
    losses = [(loss["path"], loss["loss"]) for loss in report["losses"]]
    said = dict(losses)
    compared = set()
    for variable in variables:
        if said.get(variable.path, "").startswith("left out"):
            continue
        moved = [what[10:] for path, what in losses if path == variable.path and what.startswith("stored as /")]
        path = variable.path
        if path in compared or path not in arrays and path + "/0" not in arrays and path + "/00" not in arrays:
            path = next(p for p in moved if p not in compared)
        for suffix, wanted in expected(variable, order).items():
            same(arrays[path + suffix], wanted, path + suffix)
            compared.add(path + suffix)
        compared.add(path)
    extra = set(arrays) - compared
    assert not extra, f"arrays from nowhere: {sorted(extra)}"
    for kind, path, name, value in attributes:
        label = f"{path} attribute {name}"
        notes = [what for where, what in losses if where == label]
        if any(what.startswith("left out") for what in notes):
            continue
        held = dict(found_attributes.get(path, {}))
        for what in notes:
            if match := re.search(r"kept as (.*) of its group", what):
                held = {name: found_attributes[path.rsplit("/", 1)[0] or "/"][match[1]]}
        renamed = [what[10:] for what in notes if what.startswith("stored as ") and not what.startswith("stored as /")]
        for candidate in [name, *renamed]:
            try:
                same_attribute(held[candidate], value, label)
                break
            except (AssertionError, KeyError):
                continue
        else:
            raise AssertionError(f"{label}: {value!r} is not among {held}")


def main(jobs):
    failures = 0
    for line in open(jobs):
        job = json.loads(line)
        try:
            compare(**job)
        except Exception as error:
            failures += 1
            print(f"{job['reader']} {job['order']} {job['source']}: {type(error).__name__} {error}")
    sys.exit(min(failures, 1))


if __name__ == "__main__":
    main(sys.argv[1])
