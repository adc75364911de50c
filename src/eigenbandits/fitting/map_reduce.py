"""Fit a policy to a log: each shard teaches a fresh replica, and the replicas are merged two by two."""

from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from eigenbandits import inputs
from eigenbandits.fitting.columns import Columns, LogRows
from eigenbandits.fitting.sources import NUMBERS, Partition, Shard, is_dask, open_dataset, shards_of
from eigenbandits.policy import Policy, files
from eigenbandits.policy.replicas import lay_out

# Rows from which the policy's reference is taken: enough for its mean.
FIRST = 1024


def fit(
    policy: Policy,
    data: Any,
    *,
    vector: str | Sequence[str] = "vector",
    reward: str = "reward",
    offered: str | None = None,
    chosen: str | None = None,
    engine: str = "auto",
) -> Policy:
    """Let a policy learn from a log of any length, in one pass and in memory that does not grow with it.

    The log is cut into shards of about a million rows, or into the partitions that it has. Each teaches a fresh
    replica; the replicas are merged in pairs, in the order of the log. The result does not depend on the engine or on
    the number of workers, to the last bit.

    Parameters
    ----------
    policy
        Learns from the log in addition to what it knows; it changes only if everything succeeds.
    data
        Path of a Parquet file, of a folder of them or a pattern; a list of paths; an Arrow dataset or table; or a Dask
        data frame.
    vector
        The column with the vectors of the chosen actions, lists of d numbers; or the names of d columns of numbers.
    reward
        The column with their rewards.
    offered
        The column with the decision sets, lists of vectors, to find the subspace from. Without it, that is found from
        the chosen actions.
    chosen
        The column that says which of the vectors offered was chosen, from 0, in place of `vector`.
    engine
        "serial", or "dask", which uses the client of the process where there is one and threads where not; "auto" takes
        Dask where it is installed.

    Returns
    -------
    Policy
        The policy itself.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa, eigenbandits as eb
    >>> rng = np.random.default_rng(0)
    >>> vectors = rng.standard_normal((1000, 3))
    >>> log = pa.table({"vector": list(vectors), "reward": vectors @ [1.0, 0.0, -1.0]})
    >>> policy = eb.fit(eb.EigenUCB(seed=0), log)
    >>> policy.diagnostics().rewards_learned, policy.choose(np.eye(3)).index
    (1000, 0)
    """
    inputs.one_of(engine, "engine", ("auto", "serial", "dask"))
    if not isinstance(policy, Policy):
        raise ValueError(f"policy is a {type(policy).__name__}; expected a policy, such as EigenUCB().")
    columns = Columns(vector, reward, offered, chosen)
    _refuse_unfit(policy, columns)
    if engine == "dask" or is_dask(data):
        from eigenbandits import extras

        extras.need("lab", "dask", "pyarrow", what="Learning from a log by Dask")
    if is_dask(data):
        from dask import delayed

        columns.check(list(data.columns))
        parts = data[columns.names].to_delayed()
        learned = _fit_shards(policy, [delayed(Partition)(part, i) for i, part in enumerate(parts)], columns, "dask")
    else:
        dataset = open_dataset(data)
        columns.check(dataset.schema.names)
        learned = _fit_shards(policy, shards_of(dataset), columns, engine)
    if policy.dim is None:
        # A single shard has learned its sums, and nothing else yet.
        learned.merge([])
        random_state = policy.rng.bit_generator.state
        policy.restore(learned.state())
        policy.rng.bit_generator.state = random_state
    else:
        policy.merge([learned])
    return policy


def _refuse_unfit(policy: Policy, columns: Columns) -> None:
    if getattr(policy.belief, "slim", False):
        raise ValueError(
            "this policy keeps only what its subspace reads of each action, and has no subspace before its first "
            "choice; expected one that keeps Σ, such as PSLB(subspace='pca')."
        )
    if policy.centering.by_set and policy.scoring.prior is not None:
        raise ValueError("this policy has a prior and centers each decision set; fit takes one of these, not both.")
    if policy.centering.by_set and columns.offered is None:
        raise ValueError(
            "this policy centers each decision set on its own mean; expected offered, the column of the sets."
        )


def _fit_shards(policy: Policy, shards: Sequence[Any], columns: Columns, engine: str) -> Policy:
    """Learn from shards, or from what Dask will make into shards."""
    for shard in shards:
        first: Shard = shard if isinstance(shard, Shard) else shard.compute()
        block = next(first.blocks(columns, FIRST), None)
        if block is not None:
            break
    else:
        raise ValueError("the log is empty; expected at least one row.")
    template = files.to_bytes(_template(policy, block))
    if engine == "serial" or (engine == "auto" and (len(shards) < 2 or find_spec("dask") is None)):
        return files.from_bytes(_reduce((_learn(template, shard, columns) for shard in shards), _merge))
    from dask import compute, delayed

    learn, merge = delayed(_learn, pure=False), delayed(_merge, pure=False)
    found = compute(_reduce([learn(template, shard, columns) for shard in shards], merge))
    return files.from_bytes(found[0])


def _template(policy: Policy, block: LogRows) -> Policy:
    """Return a replica that has seen nothing but centers as the policy does, or as the first rows require."""
    fresh = policy.clone()
    if policy.dim is not None:
        lay_out(fresh, like=policy)
    else:
        first = block.vectors if block.sets is None else np.concatenate(block.sets[:FIRST])
        fresh._start(inputs.as_actions(first, None, what="vectors", dtype=fresh.dtype))
    return fresh


def _learn(template: bytes, shard: Shard, columns: Columns) -> bytes:
    """Return a replica that has learned from one shard."""
    replica = files.from_bytes(template)
    assert replica.dim is not None
    start = 0
    for block in shard.blocks(columns, max(FIRST, NUMBERS // replica.dim)):
        try:
            _learn_block(replica, block)
        except ValueError as error:
            raise ValueError(f"{shard}, from row {start:,}: {error}") from None
        start += len(block.rewards)
    return files.to_bytes(replica)


def _learn_block(replica: Policy, block: LogRows) -> None:
    """Let a replica observe what was offered, and learn what was chosen."""
    if block.sets is None:
        vectors = inputs.as_actions(block.vectors, replica.dim, what="vectors", dtype=replica.dtype)
        rewards = inputs.as_rewards(block.rewards, len(vectors))
        replica.subspace.observe_all(vectors, replica.centering.reference)
        replica.learn_many(vectors, rewards)
        return
    for actions in block.sets:
        replica.observe(actions)
    if not replica.centering.by_set:
        replica.learn_many(block.vectors, block.rewards)
        return
    vectors = inputs.as_actions(block.vectors, replica.dim, what="vectors")
    means = np.array([actions.mean(axis=0, dtype=np.float64) for actions in block.sets])
    rewards = inputs.as_rewards(block.rewards, len(vectors))
    replica.belief.learn_many(replica.centering.lift_around(vectors, means), rewards)


def _merge(first: bytes, second: bytes) -> bytes:
    """Return the second replica merged into the first."""
    merged = files.from_bytes(first)
    merged.merge([files.from_bytes(second)])
    return files.to_bytes(merged)


def _reduce(parts: Iterable[Any], join: Callable[[Any, Any], Any]) -> Any:
    """Join neighbors, then neighbors of those, and so on, holding no more than one part of each size.

    Examples
    --------
    >>> _reduce("abcdefg", lambda one, other: f"({one}{other})")
    '(((ab)(cd))((ef)g))'
    """
    held: list[tuple[int, Any]] = []
    for part in parts:
        size = 1
        while held and held[-1][0] == size:
            part, size = join(held.pop()[1], part), 2 * size
        held.append((size, part))
    found = held.pop()[1]
    while held:
        found = join(held.pop()[1], found)
    return found
