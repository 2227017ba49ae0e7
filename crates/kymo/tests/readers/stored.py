"""Reads what kymo wrote with the libraries that people use: arrays by path, attributes by path."""

import json

import numpy as np


def hdf5(path):
    import h5py

    arrays, attributes = {}, {}
    with h5py.File(path) as file:
        attributes["/"] = dict(file.attrs)

        def visit(name, item):
            attributes["/" + name] = dict(item.attrs)
            if isinstance(item, h5py.Dataset):
                arrays["/" + name] = item[()]

        file.visititems(visit)
    return arrays, attributes


def npz(path):
    arrays, attributes = {}, {}
    with np.load(path) as file:
        for name in file.files:
            if name == "attributes.json":
                attributes = json.loads(file[name])
            else:
                arrays["/" + name] = file[name]
    return arrays, json_numbers(attributes)


def zarr(path):
    import zarr

    root = zarr.open_group(path, mode="r")
    arrays, attributes = {}, {"/": dict(root.attrs)}
    for name, item in root.members(max_depth=None):
        attributes["/" + name] = dict(item.attrs)
        if isinstance(item, zarr.Array):
            arrays["/" + name] = item[()]
    return arrays, json_numbers(attributes)


def json_numbers(attributes):
    """Numbers that JSON lacks are texts, and complex ones are pairs."""
    special = {"NaN": np.nan, "Infinity": np.inf, "-Infinity": -np.inf}

    def number(value):
        if isinstance(value, list) and len(value) == 2:
            return complex(*[special.get(part, part) for part in value])
        return special.get(value, value) if isinstance(value, str) else value

    return {path: {name: number(value) for name, value in held.items()} for path, held in attributes.items()}


def netcdf(path):
    import netCDF4

    arrays, attributes = {}, {}

    def visit(group, prefix):
        attributes[prefix or "/"] = {name: complex_pair(group.getncattr(name)) for name in group.ncattrs()}
        for name, variable in group.variables.items():
            variable.set_auto_maskandscale(False)
            variable.set_auto_chartostring(False)
            arrays[f"{prefix}/{name}"] = whole(variable)
            held = {key: complex_pair(variable.getncattr(key)) for key in variable.ncattrs()}
            attributes[f"{prefix}/{name}"] = held
        for name, child in group.groups.items():
            visit(child, f"{prefix}/{name}")

    with netCDF4.Dataset(path) as file:
        visit(file, "")
    return arrays, attributes


def xarray_netcdf(path):
    return by_xarray(path, engine="netcdf4")


def xarray_zarr(path):
    return by_xarray(path, engine="zarr", consolidated=False)


def by_xarray(path, **how):
    """All groups as xarray has them, with what it would make of values and times turned off."""
    import xarray

    arrays, attributes = {}, {}
    with xarray.open_datatree(path, decode_cf=False, **how) as tree:
        for node in tree.subtree:
            prefix = node.path.rstrip("/")
            attributes[prefix or "/"] = {name: complex_pair(value) for name, value in node.attrs.items()}
            for name, variable in node.to_dataset(inherit=False).variables.items():
                arrays[f"{prefix}/{name}"] = merged(variable.values, variable.dims)
                held = {key: complex_pair(value) for key, value in variable.attrs.items()}
                attributes[f"{prefix}/{name}"] = held
    return arrays, json_numbers(attributes) if how["engine"] == "zarr" else attributes


def complex_pair(value):
    is_pair = isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.shape == (2,)
    return complex(*value) if is_pair else value


def whole(variable):
    """Values whose last dimension is characters or the parts of a complex number as one."""
    return merged(np.asarray(variable[...]), variable.dimensions)


def merged(found, dimensions):
    last = dimensions[-1] if dimensions else ""
    if last == "ri":
        return found.view(found.dtype.str.replace("f4", "c8").replace("f8", "c16"))[..., 0]
    if last.startswith("char_"):
        texts = [b"".join(row) for row in found.reshape(-1, found.shape[-1])]
        return np.array(texts, dtype=object).reshape(found.shape[:-1])
    return found
