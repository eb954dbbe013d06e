"""Files of the field, written in their official layouts: by the packages themselves where they are at hand, else array
by array as their specifications say."""

import h5py
import numpy as np
from scipy import sparse

RNG = np.random.default_rng(3)
CELLS, GENES = 60, 25
COUNTS = RNG.poisson(RNG.gamma(0.5, 2.0, GENES), (CELLS, GENES)).astype(np.float32)
NAMES = [f"GENE{k}" for k in range(GENES)]
DONORS = np.array(["anna", "ben", "carla"])[np.arange(CELLS) % 3]
AGES = RNG.uniform(20, 80, CELLS)


def write_frame(file, key, index, columns):
    """A data frame as anndata 0.8 and later write it."""
    group = file.create_group(key)
    group.attrs.update({"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "_index"})
    group.attrs["column-order"] = np.array(list(columns), h5py.string_dtype())
    words = h5py.string_dtype()
    group.create_dataset("_index", data=np.array(index, object), dtype=words)
    for name, column in columns.items():
        column = np.asarray(column)
        if column.dtype.kind in "UO":
            levels, codes = np.unique(column.astype(str), return_inverse=True)
            inner = group.create_group(name)
            inner.attrs.update({"encoding-type": "categorical", "encoding-version": "0.2.0", "ordered": False})
            inner.create_dataset("categories", data=levels.astype(object), dtype=words)
            inner.create_dataset("codes", data=codes.astype(np.int8))
        else:
            group.create_dataset(name, data=column)


def write_table(file, key, table, kind, **options):
    """X or a layer: dense, or "csr", "csc"."""
    if kind == "dense":
        file.create_dataset(key, data=table, **options)
        return
    packed = sparse.csr_array(table) if kind == "csr" else sparse.csc_array(table)
    group = file.create_group(key)
    group.attrs.update({"encoding-type": f"{kind}_matrix", "encoding-version": "0.1.0", "shape": np.array(table.shape)})
    for name in ("data", "indices", "indptr"):
        group.create_dataset(name, data=getattr(packed, name), **options)


def h5ad(where, kind="csr", table=COUNTS, layers=None, **options):
    with h5py.File(where, "w") as file:
        file.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
        write_table(file, "X", table, kind, **options)
        obs = {"donor": DONORS, "age": AGES, "doublet": np.arange(CELLS) % 7 == 0}
        write_frame(file, "obs", [f"cell{k}" for k in range(len(table))], {n: c[: len(table)] for n, c in obs.items()})
        write_frame(file, "var", NAMES[: table.shape[1]], {"highly_variable": np.arange(table.shape[1]) % 5 == 0})
        for name, layer in (layers or {}).items():
            write_table(file, f"layers/{name}", layer, kind)


def old_h5ad(where):
    """As anndata before 0.7: tables of records, words of classes in uns."""
    packed = sparse.csr_array(COUNTS)
    with h5py.File(where, "w") as file:
        group = file.create_group("X")
        group.attrs.update({"h5sparse_format": b"csr", "h5sparse_shape": np.array(COUNTS.shape)})
        for name in ("data", "indices", "indptr"):
            group.create_dataset(name, data=getattr(packed, name))
        obs = np.zeros(CELLS, [("index", "S8"), ("donor", "i1"), ("age", "f8")])
        obs["index"], obs["age"] = [f"cell{k}" for k in range(CELLS)], AGES
        levels, obs["donor"] = np.unique(DONORS, return_inverse=True)
        file["obs"] = obs
        file["uns/donor_categories"] = levels.astype("S8")
        file["var"] = np.array([(name.encode(),) for name in NAMES], [("index", "S8")])


def tenx(where, version=3, kinds=None):
    """As Cell Ranger writes: compressed by cells, shape (features, cells)."""
    packed = sparse.csr_array(COUNTS.astype(np.int32))
    with h5py.File(where, "w") as file:
        group = file.create_group("matrix" if version == 3 else "GRCh38")
        group["barcodes"] = np.array([f"AAAC{k}-1" for k in range(CELLS)], "S18")
        group.create_dataset("data", data=packed.data, chunks=(50,), compression="gzip")
        group["indices"], group["indptr"] = packed.indices.astype(np.int64), packed.indptr.astype(np.int64)
        group["shape"] = np.array([GENES, CELLS], np.int32)
        ids = np.array([f"ENSG{k:011}" for k in range(GENES)], "S15")
        if version == 3:
            features = group.create_group("features")
            features["id"], features["name"] = ids, np.array(NAMES, "S10")
            features["feature_type"] = np.array(kinds or ["Gene Expression"] * GENES, "S20")
            features["genome"] = np.array(["GRCh38"] * GENES, "S6")
        else:
            group["genes"], group["gene_names"] = ids, np.array(NAMES, "S10")


SPIKES = [np.sort(RNG.uniform(2.0, 32.0, n)) for n in (80, 0, 130, 41)]
MOVIE = RNG.integers(0, 4000, (50, 12, 9)).astype(np.uint16)
PLACE = np.stack([np.linspace(0, 1, 301), np.linspace(5, 3, 301)], 1)


def write_series(file, path, data, kind, rate=None, timestamps=None, **options):
    group = file.create_group(path)
    group.attrs.update({"neurodata_type": kind, "namespace": "core", "object_id": path})
    group.create_dataset("data", data=data, **options).attrs.update({"unit": "a.u.", "conversion": 1.0})
    if timestamps is None:
        group.create_dataset("starting_time", data=2.0).attrs.update({"rate": rate, "unit": "seconds"})
    else:
        group.create_dataset("timestamps", data=timestamps).attrs.update({"unit": "seconds", "interval": 1})


def nwb(where, units=True, series=True, movie=False):
    with h5py.File(where, "w") as file:
        file.attrs.update({"nwb_version": "2.7.0", "neurodata_type": "NWBFile", "namespace": "core"})
        file["session_description"] = "a test"
        if units:
            group = file.create_group("units")
            group.attrs.update({"neurodata_type": "Units", "namespace": "hdmf-common"})
            group["id"] = np.array([3, 4, 8, 9])
            group["spike_times"] = np.concatenate(SPIKES)
            group["spike_times_index"] = np.cumsum([len(times) for times in SPIKES]).astype(np.uint16)
        if series:
            times = np.linspace(2.0, 32.0, 301)
            write_series(file, "processing/behavior/Position/place", PLACE, "SpatialSeries", timestamps=times)
            write_series(
                file, "processing/behavior/CompassDirection/direction", PLACE[:, 0] ** 2, "SpatialSeries", 10.0
            )
        if movie:
            write_series(file, "acquisition/TwoPhotonSeries", MOVIE, "TwoPhotonSeries", 5.0, chunks=(10, 12, 9))


TRACES = RNG.normal(10, 1, (6, 40)).astype(np.float32)
AROUND = RNG.normal(5, 1, (6, 40)).astype(np.float32)
ACCEPTED = np.array([[1, 0.9], [0, 0.1], [1, 0.8], [1, 0.7], [0, 0.2], [1, 0.9]])


def suite2p(folder, planes=2):
    """As suite2p saves: stat and ops are Python objects."""
    for number in range(planes):
        plane = folder / f"suite2p/plane{number}"
        plane.mkdir(parents=True)
        shown = TRACES if number == 0 else TRACES[:, :-1]
        np.save(plane / "F.npy", shown)
        np.save(plane / "Fneu.npy", AROUND[:, : shown.shape[1]])
        np.save(plane / "spks.npy", np.maximum(shown - 10, 0))
        np.save(plane / "iscell.npy", ACCEPTED)
        np.save(plane / "stat.npy", np.array([{"ypix": [1, 2]}] * 6, dtype=object))
        np.save(plane / "ops.npy", np.array({"fs": 30.0}, dtype=object))
    return folder


TABLE = RNG.normal(size=(40, 5))


def mat73(where):
    """As Matlab 7.3 writes: HDF5 behind a header of 512 bytes, axes in the other order, structs as groups."""
    packed = sparse.csc_array(COUNTS.astype(np.float64))
    with h5py.File(where, "w", userblock_size=512) as file:
        array(file, "spikes", TABLE)
        array(file, "trial", np.arange(40.0)[:, None])
        session = file.create_group("session")
        session.attrs["MATLAB_class"] = np.bytes_("struct")
        array(session, "rates", TABLE[:, :3] * 2)
        cells = file.create_group("cells")
        cells.attrs.update({"MATLAB_class": np.bytes_("double"), "MATLAB_sparse": np.uint64(CELLS)})
        cells["data"], cells["ir"], cells["jc"] = packed.data, packed.indices.astype("u8"), packed.indptr.astype("u8")
        text = file.create_dataset("animal", data=np.array([[77], [49]], np.uint16))
        text.attrs.update({"MATLAB_class": np.bytes_("char"), "MATLAB_int_decode": 2})
        file.create_group("#refs#").create_dataset("a", data=np.zeros((2, 2)))
    with open(where, "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(116) + bytes(8) + b"\x00\x02IM")


def array(group, name, values):
    group.create_dataset(name, data=values.T).attrs["MATLAB_class"] = np.bytes_("double")
