"""The usual way, as the yardstick: one-pass SGD of attention in PyTorch, one sample and one optimiser step at a time.

Positional-semantic target, softmax attention with identity reduction, opposite-pair encoding, L = 2.
"""

from __future__ import annotations

import math

import torch

LENGTH = 2


class SphericalSGD(torch.optim.Optimizer):
    """Gradient step, then back to the sphere on which the parameter began."""

    def __init__(self, parameters, learning_rate: float):
        super().__init__(parameters, dict(lr=learning_rate))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for w in group["params"]:
                radius = w.norm()
                w.add_(w.grad, alpha=-group["lr"])
                w.mul_(radius / w.norm())


def run(steps: int, d: int = 1000, learning_rate: float = 0.3, omega: float = 0.3, seed: int = 0) -> float:
    """The overlap m = w . w*/d after `steps` steps of one replica."""
    generator = torch.Generator().manual_seed(seed)

    def direction() -> torch.Tensor:
        vector = torch.randn(d, generator=generator)
        return vector / vector.norm()

    w_star, p = math.sqrt(d) * direction(), direction()
    w = torch.nn.Parameter(math.sqrt(d) * direction())
    encoding = torch.stack([p, -p]) / math.sqrt(d)
    positional = torch.softmax(torch.tensor([[1.0, -1.0], [-1.0, 1.0]]), dim=1)
    optimiser = SphericalSGD([w], learning_rate)
    for _ in range(steps):
        tokens = torch.randn(LENGTH, d, generator=generator) / math.sqrt(d)
        z_star = tokens @ w_star
        label = (1 - omega) * torch.softmax(torch.outer(z_star, z_star), dim=1) + omega * positional
        z = (tokens + encoding) @ w
        loss = torch.sum((label - torch.softmax(torch.outer(z, z), dim=1)) ** 2)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return float(w.detach() @ w_star / d)
