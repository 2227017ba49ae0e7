"""Reads what kymo wrote with the libraries that people use: arrays by path, attributes by path."""

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
