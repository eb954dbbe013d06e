"""Rows that stay on disk while models train: gathered by index like a tensor's, and read ahead of the step."""

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from torch import Tensor

STEPS_AHEAD = 4
BYTES_AHEAD = 1 << 28  # many models at once read many rows a step: then fewer steps are read ahead


class OnDisk:
    """An array on disk (`shape`, `dtype`, indexing by rows) that gives tensors on a device: `x[index]` for any index.

    `expect` says which indices are coming; a thread of its own reads them while the step before is computed. What
    arrives is the same with or without that.
    """

    def __init__(self, x: Any, device: torch.device):
        self.x, self.device = x, device
        self.shape = torch.Size(x.shape)
        self._reader = ThreadPoolExecutor(1, "partita-rows")
        self._coming: deque[Tensor] = deque()
        self._waiting: deque[tuple[Tensor, Future[Tensor]]] = deque()

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Tensor) -> Tensor:
        while self._waiting:
            expected, rows = self._waiting.popleft()
            if torch.equal(expected, index):
                self._read_on()
                return rows.result().to(self.device)
            rows.cancel()
        return self._read(index.cpu()).to(self.device)

    def expect(self, indices: Tensor) -> None:
        """The indices that will be asked for from now on, in order."""
        known = [index for index, _ in self._waiting]
        if len(known) > len(indices) or not all(torch.equal(a, b) for a, b in zip(known, indices)):
            for _, rows in self._waiting:
                rows.cancel()
            self._waiting.clear()
        self._coming = deque(indices[len(self._waiting) :])
        self._read_on()

    def _read_on(self) -> None:
        while self._coming and len(self._waiting) < self._steps_ahead(self._coming[0]):
            index = self._coming.popleft()
            self._waiting.append((index, self._reader.submit(self._read, index.cpu())))

    def _steps_ahead(self, index: Tensor) -> int:
        bytes_a_row = np.dtype(self.x.dtype).itemsize * self.shape[1:].numel()
        return max(1, min(STEPS_AHEAD, BYTES_AHEAD // (bytes_a_row * index.numel())))

    def _read(self, index: Tensor) -> Tensor:
        rows = np.asarray(self.x[index.numpy().reshape(-1)])
        if rows.dtype.kind == "f" and not np.isfinite(rows).all():
            bad = int(index.reshape(-1)[np.argmin(np.isfinite(rows.reshape(len(rows), -1)).all(1))])
            raise ValueError(f"row {bad} of the data on disk holds NaN or infinite values")
        return torch.from_numpy(np.ascontiguousarray(rows)).reshape(*index.shape, *self.shape[1:])


def readable(x: Any, device: torch.device) -> Tensor | OnDisk:
    if isinstance(x, OnDisk):
        return OnDisk(x.x, device)  # each ensemble reads ahead for itself
    return on_device(x, device) if isinstance(x, np.ndarray | Tensor) else OnDisk(x, device)


def on_device(x: np.ndarray | Tensor, device: torch.device) -> Tensor:
    if isinstance(x, np.ndarray) and not x.flags.writeable:
        x = np.asarray(_Unlocked(x))
    return torch.as_tensor(x, device=device)


class _Unlocked:
    """The same numbers in the same place, for torch, which warns of arrays that are read-only. Nobody here writes to
    the data; and switching a warning off is not for one thread alone."""

    def __init__(self, x: np.ndarray):
        self.x = x  # alive as long as its numbers are looked at
        self.__array_interface__ = x.__array_interface__ | {"data": (x.ctypes.data, False)}
