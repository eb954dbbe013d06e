import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest

from partita.data import FactorGrid, load
from partita.data._polygons import unpack
from partita.data.dsprites import NAMES, SIZES, bit_images

HERE = Path(__file__).parent
SHARED = HERE / "../../../shared/data/dsprites"
OFFICIAL = FactorGrid(NAMES, SIZES)


def rendered_bits(index):
    """Bit rows of official images, looked up in the renderings of whole position planes."""
    classes = OFFICIAL.to_classes(index)
    bits = np.empty((len(index), 64), dtype="<u8")
    scene = classes[:, :3] @ (240, 40, 1)
    for number in np.unique(scene):
        mine = scene == number
        shape, scale, orientation = classes[mine][0, :3]
        plane = bit_images(shape, scale, orientation, np.arange(32), np.arange(32))
        bits[mine] = plane[classes[mine, 3], classes[mine, 4]]
    return bits


def pixels_apart(bits, index):
    return np.bitwise_count(bits ^ rendered_bits(index)).sum(1)


def test_a_sample_of_real_images():
    """240 drawn at random agree; the 6 known ones differ in one pixel, no more and no less."""
    real = np.load(HERE / "real/dsprites_246.npz", allow_pickle=False)
    apart = pixels_apart(real["bits"], real["index"])
    assert real["index"][apart > 0].tolist() == [111508, 151882, 258370, 475532, 650103, 725836]
    assert apart.max() == 1


@pytest.mark.skipif(not SHARED.exists(), reason="the 64,834 real images are not at hand in ../shared/data/dsprites")
def test_all_real_images_at_hand():
    index, images = [], []
    for name in ("dsprites_downsampled.npz", "dsprites_subset.npz"):
        with np.load(SHARED / name, allow_pickle=False) as archive:
            index.append(archive["original_dataset_indices"])
            images.append(np.packbits(archive["imgs"], axis=2, bitorder="little").view("<u8")[..., 0])
    index, first = np.unique(np.concatenate(index), return_index=True)
    assert len(index) == 64_834
    apart = pixels_apart(np.concatenate(images)[first], index)
    assert apart.max() == 1
    assert (apart > 0).sum() <= 6


def test_a_coarser_grid_is_a_part_of_the_whole():
    data = load("dsprites", every=(1, 2, 8, 8, 4))
    assert data.factor_sizes == (3, 3, 5, 4, 8)
    assert data.grid is not None
    assert data.x.shape == (3 * 3 * 5 * 4 * 8, 1, 64, 64)
    assert data.x_scale == 1.0
    official = OFFICIAL.to_index(data.factors * (1, 2, 8, 8, 4))
    packed = np.packbits(data.x[:, 0], axis=2, bitorder="little").view("<u8")[..., 0]
    np.testing.assert_array_equal(packed, rendered_bits(official))


def test_orientations_0_and_39_are_the_same_angle():
    square = [bit_images(0, 3, orientation, np.arange(32), np.arange(32)) for orientation in (0, 39)]
    assert np.bitwise_count(square[0] ^ square[1]).sum() < 0.001 * 1024 * 64


@pytest.mark.parametrize("every", [(1, 1), (1, 1, 1, 1, 0), "11111", (1, 1, 1, 1, 1.5), 2])
def test_bad_steps(every):
    with pytest.raises(ValueError, match="every must be (5 steps|a list, each a whole number)"):
        load("dsprites", every=every)


@pytest.fixture(scope="module")
def official_classes():
    return np.c_[np.zeros(OFFICIAL.size, np.int64), OFFICIAL.all_classes()]


@pytest.fixture
def official_h5(tmp_path, official_classes):
    """The official layout at full size; only the first images are drawn, the rest takes no room."""
    path = tmp_path / "dsprites.hdf5"
    with h5py.File(path, "w") as file:
        images = file.create_dataset("imgs", (OFFICIAL.size, 64, 64), "u1", chunks=(1024, 64, 64), compression=1)
        images[:1024] = unpack(bit_images(0, 0, 0, np.arange(32), np.arange(32))).reshape(1024, 64, 64)
        file.create_dataset("latents/classes", data=official_classes, compression=1)
    return path


def test_the_official_hdf5_is_read(official_h5):
    steps = (3, 6, 40, 2, 3)
    data = load("dsprites", every=steps, file=official_h5)
    np.testing.assert_array_equal(data.x, load("dsprites", every=steps).x)
    assert data.description["options"]["file"] == str(official_h5)


def test_other_files_are_not_taken_for_the_official_one(official_h5, tmp_path, official_classes):
    with h5py.File(official_h5, "a") as file:
        file["latents/classes"][:2] = official_classes[[1, 0]]
    with pytest.raises(ValueError, match="dsprites.hdf5: the images are not in the official order"):
        load("dsprites", file=official_h5)
    np.savez(tmp_path / "a.npz", imgs=np.zeros((3, 64, 64), np.uint8), latents_classes=official_classes[:3])
    with pytest.raises(ValueError, match="a.npz: expected the 6 classes"):
        load("dsprites", file=tmp_path / "a.npz")
    np.savez(tmp_path / "a.npz", imgs=np.zeros((3, 64, 64), np.uint8), latents_classes=official_classes)
    with pytest.raises(ValueError, match="a.npz: .*too short"):
        load("dsprites", file=tmp_path / "a.npz")


@pytest.mark.slow
def test_the_official_npz_is_read(tmp_path, official_classes):
    """3 GB unpacked, of which only the wanted rows come into memory; the pickled metadata stays closed."""
    drawn = unpack(bit_images(0, 0, 0, np.arange(32), np.arange(32))).reshape(1024, 64, 64)
    path = tmp_path / "dsprites.npz"
    np.savez_compressed(path, latents_classes=official_classes, metadata=np.array({"a": 1}, dtype=object))
    header = {"descr": "|u1", "fortran_order": False, "shape": (OFFICIAL.size, 64, 64)}
    with (
        zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("imgs.npy", "w", force_zip64=True) as member,
    ):
        np.lib.format.write_array_header_1_0(member, header)
        member.write(drawn.tobytes())
        for _ in range(719):
            member.write(bytes(drawn.nbytes))
    data = load("dsprites", every=(3, 6, 40, 1, 1), file=path)
    np.testing.assert_array_equal(data.x[:, 0], drawn)


@pytest.mark.slow
def test_all_737280():
    data = load("dsprites")
    assert data.x.shape == (737_280, 1, 64, 64)
    assert data.grid == OFFICIAL
