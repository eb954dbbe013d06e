"""Where to compute."""

import torch


def choose_device(name: str = "auto") -> torch.device:
    """The device of this name; "auto" is a GPU where there is one. ValueError when it is not there."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ValueError(f"unknown device {name!r}: use auto, cpu or cuda") from None
    if device.type not in ("cpu", "cuda"):
        raise ValueError(f"unknown device {name!r}: use auto, cpu or cuda")
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise ValueError("device 'cuda' was asked for, but PyTorch sees no GPU here; use --device cpu")
        if (device.index or 0) >= torch.cuda.device_count():
            raise ValueError(f"device {name!r} was asked for, but there are {torch.cuda.device_count()} GPUs")
    return device
