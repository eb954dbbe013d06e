import time
from pathlib import Path

import numpy as np
import pytest

from partita.data import FactorGrid, load
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


@pytest.mark.slow
def test_all_737280_in_under_a_minute():
    start = time.perf_counter()
    data = load("dsprites")
    assert time.perf_counter() - start < 60
    assert data.x.shape == (737_280, 1, 64, 64)
    assert data.grid == OFFICIAL
