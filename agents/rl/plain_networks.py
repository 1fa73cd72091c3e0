"""Networks that other trainers export: from an observation of an environment to the logits of its choices.

An architecture is known by its name, so that its weights are all that has to be stored: "legal-orders" is
`agents.rl.legal_orders.LegalOrdersNetwork`, "mlp" a multilayer perceptron. ONNX would take any network, but three more
libraries to write it (onnx, onnxscript, onnx-ir) and a fourth of 28 MB to play it, beside torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from torch import Tensor, nn

from agents.rl.legal_orders import MASKED, LegalOrdersNetwork, Shape

ACTIVATIONS: dict[str, type[nn.Module]] = {"tanh": nn.Tanh, "relu": nn.ReLU, "silu": nn.SiLU, "gelu": nn.GELU}
LARGEST = 100_000_000  # weights


@dataclass(frozen=True)
class Layers:
    """The size of an `MLP`: units of each layer, inputs first, and what is between the layers."""

    units: list[int]
    activation: str

    def __post_init__(self) -> None:
        if self.activation not in ACTIVATIONS:
            raise ValueError(f"activation {self.activation!r:.40}: there are {', '.join(ACTIVATIONS)}")

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


class MLP(nn.Module):
    """A multilayer perceptron on ``observations``, a vector: that of an environment with ``flat=True``."""

    def __init__(self, shape: Layers) -> None:
        super().__init__()
        self.shape = shape
        layers: list[nn.Module] = []
        for inputs, outputs in zip(shape.units, shape.units[1:], strict=False):
            layers += [ACTIVATIONS[shape.activation](), nn.Linear(inputs, outputs)]
        self.layers = nn.Sequential(*layers[1:])

    def forward(self, seen: Mapping[str, Tensor]) -> Tensor:
        """Logits float32 [B, choices] of observations with a leading dimension; -1e9 where the mask is 0."""
        logits: Tensor = self.layers(seen["observations"].flatten(1))
        return logits.masked_fill(seen["action_mask"].flatten(1) == 0, MASKED)


PlainNetwork = LegalOrdersNetwork | MLP


def architecture(network: PlainNetwork) -> str:
    """The name of a network's architecture."""
    return "legal-orders" if isinstance(network, LegalOrdersNetwork) else "mlp"


def made(name: str, size: Mapping[str, Any], weights: Mapping[str, Tensor]) -> PlainNetwork:
    """A network of a named architecture with these weights.

    Raises:
        ValueError, TypeError, RuntimeError: there is no such architecture, or the weights do not fit the size.
    """
    if name == "legal-orders":
        shape = Shape(**size)
        needed = shape.width * (1 + shape.choices) + shape.hidden * shape.inputs
    elif name == "mlp":
        layers = Layers(**size)
        needed = sum(one * other for one, other in zip(layers.units, layers.units[1:], strict=False))
    else:
        raise ValueError(f"architecture {name!r:.40}: there are legal-orders, mlp")
    if not 0 < needed <= sum(weight.numel() for weight in weights.values()) <= LARGEST:  # before allocating as much
        raise ValueError(f"the weights do not fit {name} of {dict(size)!r:.200}")
    network = LegalOrdersNetwork(shape) if name == "legal-orders" else MLP(layers)
    network.load_state_dict(dict(weights))
    return network.eval()


def as_mlp(modules: list[nn.Module]) -> MLP | None:
    """Linear layers with the same activation between any two as an `MLP`; None for anything else."""
    kinds = {kind: name for name, kind in ACTIVATIONS.items()}
    linear, between = modules[::2], {type(module) for module in modules[1::2]}
    if not all(isinstance(module, nn.Linear) for module in linear) or len(modules) % 2 == 0 or len(between) > 1:
        return None
    if not between <= kinds.keys() or any(module.bias is None for module in linear):
        return None
    units = [int(linear[0].in_features), *(int(module.out_features) for module in linear)]
    network = MLP(Layers(units, kinds[between.pop()] if between else "tanh"))
    for mine, given in zip([*network.layers][::2], linear, strict=True):
        mine.load_state_dict(given.state_dict())
    return network
