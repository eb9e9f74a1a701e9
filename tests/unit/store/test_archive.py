"""Archives are what Zarr and xarray read, and what they read is what was written."""

import subprocess
import sys

import numpy as np
import pytest
import xarray as xr
import zarr
from zarr.storage import ZipStore

from ssi_kernels.store.archive import Archive, DamagedArchive, encode

ARRAYS = {
    "f4": np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3),
    "f8": np.array([[np.nan, np.inf, -0.0]]),
    "u4": np.array([[1, 2**32 - 1]], np.uint32),
    "i8": np.array([-(2**62), 5]),
    "i1": np.array([-1, 2], np.int8),
    "flag": np.array([True, False]),
    "c8": np.array([1 + 2j], np.complex64),
    "none": np.zeros((2, 0), np.float32),
    "scalar": np.float64(0.1),
    "big_endian": np.array([1.5, 2.5], ">f8"),
}
DIMENSIONS = {name: tuple(f"{name}_{i}" for i in range(np.ndim(array))) for name, array in ARRAYS.items()}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "x.zarr.zip"
    path.write_bytes(encode(ARRAYS, DIMENSIONS, {"key": ["a", 1]}))
    return path


def test_every_kind_of_number_comes_back_to_the_bit(path):
    with Archive(path) as archive:
        assert archive.attributes() == {"key": ["a", 1]}
        for name, array in ARRAYS.items():
            found = archive.array(name)
            assert found.shape == np.shape(array)
            assert found.dtype == np.dtype(np.asarray(array).dtype).newbyteorder("<")
            np.testing.assert_array_equal(found, array)
            assert found.flags.writeable


@pytest.mark.filterwarnings("error")
def test_zarr_reads_it(path):
    with ZipStore(path, mode="r") as store:
        group = zarr.open_group(store, mode="r")
        assert dict(group.attrs) == {"key": ["a", 1]}
        assert set(group.array_keys()) == set(ARRAYS)
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(group[name][...], array)
            assert group[name].metadata.dimension_names == DIMENSIONS[name]


def test_xarray_reads_it_without_a_warning(path):
    """Case 35."""
    code = (
        "import sys, xarray as xr; from zarr.storage import ZipStore\n"
        "xr.open_zarr(ZipStore(sys.argv[1], mode='r'), consolidated=False).load()"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code, str(path)], check=True)


def test_values_equal_those_of_xarray(path):
    dataset = xr.open_zarr(ZipStore(path, mode="r"), consolidated=False).load()
    np.testing.assert_array_equal(dataset["f4"], ARRAYS["f4"])
    assert dataset["i1"].dtype == np.int8


def test_equal_content_gives_equal_bytes():
    assert encode(ARRAYS, DIMENSIONS, {}) == encode(ARRAYS, DIMENSIONS, {})


@pytest.mark.parametrize("array", [np.array(["a"]), np.array([None])])
def test_only_numbers_are_stored(array):
    with pytest.raises(TypeError, match="array x has dtype"):
        encode({"x": array}, {"x": ("i",)}, {})


@pytest.mark.parametrize("keep", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_damaged(path, keep):
    """Case 5."""
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content))])
    with pytest.raises(DamagedArchive):
        Archive(path)


def test_a_flipped_bit_in_the_values_is_damage(path):
    """Case 5."""
    content = bytearray(path.read_bytes())
    at = content.index(b"f4/c/0/0") + len("f4/c/0/0") + 2
    content[at] ^= 0x10
    path.write_bytes(content)
    with Archive(path) as archive, pytest.raises(DamagedArchive):
        archive.array("f4")
