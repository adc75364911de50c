"""`LiteLLMStrategy`: lets a router choose among the deployments of a `litellm.Router`."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from eigenbandits.router.prompts import prompt_of
from eigenbandits.router.router import OPEN, Route, Router

# Under this name in a call's `metadata` stands the id that feedback is given under.
KEY = "router_id"


class LiteLLMStrategy:
    """A custom routing strategy of LiteLLM: ``litellm_router.register_plugin(LiteLLMStrategy(router, model_list))``.

    Has the methods of `litellm.types.router.CustomRoutingStrategyBase`; LiteLLM itself is not needed to make one. A
    call names its own id, ``metadata={"router_id": "…"}``, under which `feedback` is given later. Where LiteLLM asks
    again for the same id, the model chosen before has failed: that is counted, and another model is chosen while there
    is one.

    Parameters
    ----------
    router
        The router; the names of its models are the ids of the deployments.
    model_list
        The deployments, as given to LiteLLM: `model_info.id` is the name of a model, and deployments that share a
        `model_name` are chosen among.

    Examples
    --------
    >>> deployments = [{"model_name": "auto", "model_info": {"id": name}} for name in ("small", "large")]
    >>> router = Router(["small", "large"], encoder=lambda prompt: [float(len(prompt)), 1.0], seed=0)
    >>> strategy = LiteLLMStrategy(router, deployments)
    >>> call = {"metadata": {"router_id": "request 1"}}
    >>> chosen = strategy.get_available_deployment("auto", [{"role": "user", "content": "Hi"}], request_kwargs=call)
    >>> chosen in deployments, strategy.feedback("request 1", reward=0.9, cost=0.0001)
    (True, 'learned')
    """

    def __init__(self, router: Router, model_list: Sequence[Mapping[str, Any]]) -> None:
        self.router = router
        self.groups: dict[str, dict[str, Any]] = {}
        for deployment in model_list:
            name = deployment.get("model_info", {}).get("id")
            if name not in {model.name for model in router.models}:
                raise ValueError(f"a deployment has the model_info.id {name!r}; expected the name of a router's model.")
            self.groups.setdefault(str(deployment.get("model_name")), {})[name] = deployment
        # The routes of calls that have an id, and the models that have failed them.
        self._routes: OrderedDict[str, tuple[Route, frozenset[str]]] = OrderedDict()

    def get_available_deployment(
        self,
        model: str,
        messages: list[dict[str, Any]] | None = None,
        input: str | list[Any] | None = None,
        specific_deployment: bool | None = False,
        request_kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Return the deployment that a call goes to."""
        if model not in self.groups:
            raise ValueError(f"no deployment has the model_name {model!r}; expected one of {list(self.groups)}.")
        found = self.groups[model]
        key = ((request_kwargs or {}).get("metadata") or {}).get(KEY)
        failed: frozenset[str] = frozenset()
        if key is not None and key in self._routes:
            before, failed = self._routes.pop(key)
            self.router.failed(before.id)
            failed |= {before.model}
        tried = failed if set(found) - failed else frozenset()
        others = {one.name for one in self.router.models} - set(found)
        prompt = input if isinstance(input, str) else prompt_of({"messages": messages})
        route = self.router.route(prompt, exclude=others | tried)
        if key is None:
            # Nobody can give feedback on it: nothing is to be learned, and nothing to be held open.
            self.router.failed(route.id)
        else:
            self._routes[key] = route, failed
            if len(self._routes) > OPEN:
                self._routes.popitem(last=False)
        return found[route.model]

    async def async_get_available_deployment(
        self,
        model: str,
        messages: list[dict[str, Any]] | None = None,
        input: str | list[Any] | None = None,
        specific_deployment: bool | None = False,
        request_kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Return the same; choosing takes some tenths of a millisecond, and an encoder some milliseconds."""
        return self.get_available_deployment(model, messages, input, specific_deployment, request_kwargs)

    def feedback(self, key: str, reward: float, cost: float | None = None, latency: float | None = None) -> str:
        """Learn from the answer to a call, as `Router.feedback` does; `key` is the id that the call named."""
        if key not in self._routes:
            raise ValueError(f"no call {key!r} is waiting for feedback; expected the router_id of its metadata.")
        done = self.router.feedback(self._routes[key][0].id, reward, cost, latency)
        del self._routes[key]
        return done
