"""Random streams addressed by (point, replica, step, draw): nothing is ever split or carried along.

    point key   = 64 bits of the point's stream_id
    replica key = threefry(point key, replica)
    step key    = threefry(replica key, (high word of the step, STEP))     start key: (0, START)
    draw        = threefry(step key, (low word of the step, index of the pair))

so a replica's numbers do not depend on batch width, packing, worker count, order or where a run was resumed.
"""

from __future__ import annotations

import numpy as np

from ssi_kernels.kernels.threefry import threefry

START, STEP, FRAME = 0, 1, 2


def point_key(stream_id: str) -> np.ndarray:
    """The first 64 bits of a hexadecimal stream_id as uint32 of shape (2,)."""
    bits = int(stream_id[:16], 16)
    return np.array([bits >> 32, bits & 0xFFFFFFFF], dtype=np.uint32)


def replica_keys(stream_id: str, first: int, last: int) -> np.ndarray:
    """Keys of replicas first..last-1 of one point, uint32 of shape (2, last - first)."""
    replica = np.arange(first, last, dtype=np.uint64)
    counter = (replica & np.uint64(0xFFFFFFFF)).astype(np.uint32), (replica >> np.uint64(32)).astype(np.uint32)
    key = point_key(stream_id)
    return np.stack(threefry((key[:1], key[1:]), counter))


def derived(keys, word, purpose: int):
    """Keys for one purpose (START, STEP, FRAME) and one word, of the shape of `keys`, (2, W)."""
    zero = keys[0] ^ keys[0]
    return threefry((keys[0], keys[1]), (zero + word, zero + purpose))


def host_words(keys: np.ndarray, purpose: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """`count` pairs of words per lane for one purpose, each uint32 of shape (count, W)."""
    a, b = derived(keys, 0, purpose)
    index = np.arange(count, dtype=np.uint32)[:, None]
    return threefry((a[None], b[None]), (index, np.zeros_like(index)))


def host_normals(keys: np.ndarray, purpose: int, count: int) -> np.ndarray:
    """`count` standard normals per lane in float64, shape (count, W), by Box-Muller."""
    a, b = host_words(keys, purpose, (count + 1) // 2)
    radius = np.sqrt(-2 * np.log((a + 0.5) * 2.0**-32))
    angle = b * (2 * np.pi * 2.0**-32)
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:count]


def host_uniforms(keys: np.ndarray, purpose: int, count: int) -> np.ndarray:
    """`count` uniforms in (0, 1) per lane with 53 random bits, float64 of shape (count, W)."""
    a, b = host_words(keys, purpose, count)
    bits = (a.astype(np.uint64) << np.uint64(21)) | (b.astype(np.uint64) >> np.uint64(11))
    return (bits.astype(np.float64) + 0.5) * 2.0**-53
