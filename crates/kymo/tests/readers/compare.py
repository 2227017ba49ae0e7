"""Compares what kymo converted with its source: compare.py JOBS.

JOBS has a JSON object a line: reader, order, source, output, and report, which is what `kymo
convert --json` printed. Whatever is not as in the source must be in the report, and whatever is
in the report must be so.
"""

import json
import re
import sys
import warnings

import numpy as np

import bp
import stored

warnings.simplefilter("ignore")

# The readers of targets that keep attributes as JSON.
JSON = ("npz", "zarr", "xarray_zarr")


def expected(variable, order):
    """The arrays that a variable becomes: a suffix of the path, values, and how many are missing."""
    rank = variable.steps[0].ndim - (variable.code not in bp.KNOWN)
    axes = [*reversed(range(rank)), *range(rank, variable.steps[0].ndim)]
    steps = [s.transpose(axes) if order == "fortran" else s for s in variable.steps]
    if len(steps) == 1:
        return {"": (steps[0], variable.missing[0])}
    if len({s.shape for s in steps}) == 1:
        return {"": (np.stack(steps), sum(variable.missing))}
    digits = len(str(len(steps) - 1))
    return {f"/{n:0{digits}}": each for n, each in enumerate(zip(steps, variable.missing))}


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
    for one, other in zip(parts(found), parts(wanted)):
        is_nan = np.isnan(one)
        assert (np.signbit(one) == np.signbit(other))[~is_nan].all(), f"{what}: -0 is not 0"


def parts(array):
    """The real numbers that an array of floats is made of."""
    kind = array.dtype.kind
    return [array.real, array.imag] if kind == "c" else [array] if kind == "f" else []


def text(value):
    return bp.decoded(value.encode() if isinstance(value, str) else bytes(value)).rstrip("\0")


def same_type(found, wanted, what, reader):
    """Whether a number has its type; JSON has whole numbers and doubles alone."""
    if isinstance(wanted, str):
        return
    found, wanted = np.asarray(found).dtype, np.asarray(wanted).dtype
    is_pair = wanted.kind == "c" and "netcdf" in reader
    if reader not in JSON and not is_pair:
        assert found == wanted.newbyteorder("="), f"{what}: {found}, not {wanted}"


def same_attribute(found, wanted, what):
    if isinstance(wanted, str):
        assert text(found) == wanted, f"{what}: {found!r}, not {wanted!r}"
    elif isinstance(wanted, np.ndarray):
        assert list(np.ravel(found)) == list(wanted), f"{what}: {found!r}"
    else:
        is_same = found == wanted or (found != found and wanted != wanted)
        assert is_same, f"{what}: {found!r}, not {wanted!r}"
        same(np.asarray(found, dtype=np.asarray(wanted).dtype), np.asarray(wanted), what)


class Report:
    """The losses of a report, each of which must be looked for."""

    def __init__(self, losses):
        self.left = {(loss["kind"], loss["path"], loss["loss"]) for loss in losses}
        self.all = set(self.left)

    def of(self, kind, path):
        found = [loss for loss in self.all if loss[:2] == (kind, path)]
        self.left -= set(found)
        return [what for _, _, what in found]

    def take(self, kind, path, what, is_so):
        """A loss that must be said when it is so, and only then."""
        said = {loss for loss in self.all if loss[:2] == (kind, path) and re.match(what, loss[2])}
        assert bool(said) == bool(is_so), f"{path}: {kind} {what}: is {is_so}, said {said}"
        self.left -= said


def compare(reader, order, source, output, report):
    variables, attributes = bp.read(source, order)
    arrays, held = getattr(stored, reader)(output)
    report = Report(report["losses"])
    compared = set()
    for variable in variables:
        compare_variable(variable, reader, order, arrays, report, compared)
    extra = set(arrays) - compared
    assert not extra, f"arrays from nowhere: {sorted(extra)}"
    paths = {variable.path for variable in variables}
    for kind, path, name, value, is_latin1 in attributes:
        is_dangling = kind == "attribute" and path not in paths
        report.take("changed", f"{path} attribute {name}", "Latin-1", is_latin1)
        compare_attribute(path, name, value, is_dangling, reader, held, report)
    assert not report.left, f"said, and not so: {sorted(report.left)}"


def compare_variable(variable, reader, order, arrays, report, compared):
    path = variable.path
    moved = [what[10:] for what in report.of("renamed", path) if what.startswith("stored as /")]
    if path in compared or not {path, path + "/0", path + "/00"} & set(arrays):
        path = next(p for p in moved if p not in compared)
    report.take("rounded", variable.path, "values are rounded", variable.is_rounded)
    report.take("changed", variable.path, "its type", variable.code not in bp.KNOWN)
    report.take("changed", variable.path, "its name is Latin-1", variable.is_latin1)
    is_pair = variable.code in (10, 11) and "netcdf" in reader
    report.take("reshaped", variable.path, "stored with a last dimension of 2", is_pair)
    for suffix, (wanted, missing) in expected(variable, order).items():
        same(arrays[path + suffix], wanted, path + suffix)
        if missing:
            what = f"{missing} of {wanted.size} values are not in the file"
            report.take("missing", variable.path, what, True)
        if wanted.dtype == object and wanted.size:
            has_nul = any(b"\0" in bytes(v) for v in wanted.ravel())
            report.take("changed", variable.path, "has NUL", has_nul)
            texts = [bytes(v) for step in variable.steps for v in step.ravel()]
            report.take("changed", variable.path, "text is Latin-1", any(map(bp.is_latin1, texts)))
        compared.add(path + suffix)
    compared.add(path)


def compare_attribute(path, name, value, is_dangling, reader, found, report):
    label = f"{path} attribute {name}"
    report.take("dangling", label, "there is no such variable", is_dangling)
    is_complex = isinstance(value, (complex, np.complexfloating))
    is_special = isinstance(value, (float, np.floating)) and not np.isfinite(value)
    if "netcdf" in reader:
        report.take("changed", label, "stored as numbers", is_complex)
    if reader in JSON:
        report.take("changed", label, "stored as text or a list", is_complex or is_special)
        kept = isinstance(value, str) or np.asarray(value).dtype in (np.int64, np.float64)
        report.take("changed", label, "stored as a number of JSON", not (kept or is_complex or is_special))
    held = dict(found.get(path, {}))
    if is_dangling:
        last = path.rsplit("/", 1)
        held = {name: found[last[0] or "/"][f"{last[1]}.{name}"]}
    renamed = [what[10:] for what in report.of("renamed", label)]
    for candidate in [name, *renamed]:
        try:
            same_attribute(held[candidate], value, label)
            same_type(held[candidate], value, label, reader)
            return
        except (AssertionError, KeyError):
            continue
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
