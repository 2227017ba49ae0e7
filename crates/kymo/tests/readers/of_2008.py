"""Compares what kymo makes of files of 2008 with what was made of them then: of_2008.py JOBS.

JOBS has a JSON object a line: ours and old, two files of HDF5, or an old one of NetCDF. The old
converter was wrong in the ways that are named here, and in no other.
"""

import json
import sys

import h5py
import numpy as np

import stored


def hdf5(path):
    """Arrays and attributes; some names of then are no UTF-8."""
    arrays, attributes = {}, {}

    def visit(name, item):
        name = "/" + (name.decode("latin-1") if isinstance(name, bytes) else name)
        attributes[name] = dict(item.attrs)
        if isinstance(item, h5py.Dataset):
            arrays[name] = np.asarray(item[()])

    with h5py.File(path) as file:
        file.visititems(visit)
    return arrays, attributes


def fault(old, new):
    """What was wrong with an old array; nothing where it was right."""
    if old.shape == new.shape and np.array_equal(old, new, equal_nan=new.dtype.kind == "f"):
        return None
    if old.dtype.kind == "i" and new.dtype.kind == "u" and np.array_equal(old.view(new.dtype), new):
        return "unsigned became signed"
    if new.ndim and old.shape == new.shape[1:] and np.array_equal(old, new[0]):
        return "only the first step was kept"
    if old.size == new.size and np.array_equal(old.ravel(), new.ravel()):
        return "the same values in other dimensions"
    if is_placeholder(old):
        return "an attribute that came first took the place"
    if np.isnan(new).all() and not old.any():
        return "zero where nothing was written"
    raise AssertionError(f"{old.dtype}{old.shape}, not {new.dtype}{new.shape}")


def is_placeholder(old):
    return old.dtype == np.int32 and old.shape == (1,) and not old.any()


def compare_hdf5(ours, old):
    (new, notes), (then, old_notes) = hdf5(ours), hdf5(old)
    right = 0
    for path, values in then.items():
        if path in new:
            right += fault(values, new[path]) is None
        elif path + "/0" in new:
            assert fault(values, new[path + "/0"]) is None, path
        else:
            # The old one made up a variable for an attribute, and left dots out of paths.
            assert is_placeholder(values) or "/../" in path, f"{path} is not among ours"
    for path in set(old_notes) & set(notes):
        for name, value in old_notes[path].items():
            value = value.decode() if isinstance(value, bytes) else value
            assert fault(np.asarray(value), np.asarray(notes[path][name])) in (None, "unsigned became signed")
    return right


def compare_netcdf(ours, old):
    """Records of the one variable `phi` of then are groups of ours."""
    new, _ = hdf5(ours)
    then, _ = stored.netcdf(old)
    right = 0
    for path, records in then.items():
        found = [values for name, values in sorted(new.items()) if name.endswith(path)]
        assert len(found) == len(records), path
        for values, record in zip(found, records):
            assert np.array_equal(values.ravel(), record), path
            right += 1
    return right


def main(jobs):
    for line in open(jobs):
        job = json.loads(line)
        compare = compare_netcdf if job["old"].endswith(".nc") else compare_hdf5
        try:
            print(f"{job['old']}: {compare(**job)} right")
        except Exception as error:
            sys.exit(f"{job['old']}: {type(error).__name__} {error}")


if __name__ == "__main__":
    main(sys.argv[1])
