"""Threefry-2x32 with 20 rounds (Salmon et al. 2011): a counter-based generator.

Works on NumPy and on JAX uint32 arrays alike, so that host and device derive the same keys.
"""

from __future__ import annotations

_ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)
_PARITY = 0x1BD11BDA
ROUNDS = 20


def threefry(key, counter):
    """Two words from a key and a counter of two words each, all uint32, broadcast together."""
    uint32 = key[0].dtype.type
    words = (key[0], key[1], key[0] ^ key[1] ^ uint32(_PARITY))
    x, y = counter[0] + words[0], counter[1] + words[1]
    for i in range(ROUNDS):
        r = _ROTATIONS[i % 8]
        x = x + y
        y = ((y << uint32(r)) | (y >> uint32(32 - r))) ^ x
        if i % 4 == 3:
            s = i // 4 + 1
            x, y = x + words[s % 3], y + words[(s + 1) % 3] + uint32(s)
    return x, y
