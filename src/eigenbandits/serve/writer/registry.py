"""The registry: the policies, catalogues and keys that the writer has published."""

from collections.abc import Iterable
from dataclasses import dataclass

from eigenbandits.serve.errors import Refusal, unavailable, unknown
from eigenbandits.serve.keys import KeyRing
from eigenbandits.serve.writer.catalogue import Catalogue
from eigenbandits.serve.writer.hosted_policy import HostedPolicy


@dataclass(frozen=True)
class BrokenPolicy:
    """A policy that cannot be rebuilt, and the reason."""

    id: int
    reason: str


class Registry:
    """What requests see. Only the writer's thread changes it, by replacing its dictionaries, so all threads may read.

    Attributes
    ----------
    policies
        The policies by id.
    broken
        By name, the policies that neither the log nor a snapshot leads to; the service runs without them.
    catalogues
        The catalogues by name.
    keys
        The valid keys.
    """

    def __init__(self, keys: KeyRing) -> None:
        self.keys = keys
        self.policies: dict[int, HostedPolicy] = {}
        self.broken: dict[str, BrokenPolicy] = {}
        self.catalogues: dict[str, Catalogue] = {}
        self._names: dict[str, HostedPolicy] = {}

    def policy(self, name: str) -> HostedPolicy:
        """Return a policy by its name."""
        hosted = self._names.get(name)
        if hosted is not None:
            return hosted
        if name in self.broken:
            raise unavailable("this policy cannot be rebuilt; restore a backup of its snapshots, or delete it", 60)
        raise Refusal(404, "unknown_policy", f"There is no policy {name[:100]!r}; create it first.")

    def catalogue(self, name: str) -> Catalogue:
        """Return a catalogue by its name."""
        catalogue = self.catalogues.get(name)
        if catalogue is None:
            raise unknown("catalogue", name[:100])
        return catalogue

    def has_policy(self, name: str) -> bool:
        """Return whether there is a policy with a name."""
        return name in self._names

    def publish(self, policies: Iterable[HostedPolicy]) -> None:
        """Replace the policies."""
        self.policies = {hosted.id: hosted for hosted in policies}
        self._names = {hosted.name: hosted for hosted in self.policies.values()}
